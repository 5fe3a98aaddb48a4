"""The demo model: rules that play the model's part for any prompt, and say that they are a program."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

LINES_QUOTED = 5
ITEMS_NAMED = 10
CHARACTERS_QUOTED = 200  # of one line, or of a result that no rule knows how to sum up

# What each tool is asked about, and so what the answer calls its subject.
SUBJECTS = {
    "calculator": "expression",
    "read_text_file": "path",
    "list_directory": "path",
    "search_text": "query",
}

ENGLISH = {
    "calculator": "{subject} = {result}",
    "calculator failed": "{subject} could not be computed: {error}",
    "read_text_file": "{subject} begins as follows (number of lines: {count}):\n{quote}",
    "read_text_file empty": "{subject} is empty.",
    "read_text_file failed": "{subject} could not be read: {error}",
    "list_directory": "{subject} holds {count}: {items}.{notes}",
    "list_directory empty": "{subject} is empty.",
    "list_directory failed": "{subject} could not be listed: {error}",
    "search_text": "“{subject}” was found (number of lines: {count}):\n{items}{notes}",
    "search_text empty": "“{subject}” was not found.{notes}",
    "search_text failed": "The search for “{subject}” failed: {error}",
    "other": "{tool} returned: {result}",
    "other failed": "{tool} failed: {error}",
    "more": "… and {count} more",
    "cut": " (Cut by the tool: {cut}.)",
    "skipped": " (Not searched: {skipped}.)",
    "unanswered": "The call {id} ({tool}: {subject}) came back without a result.",
    "not offered": "For “{subject}” I need the tool {tool}, and this request does not offer it.",
    "no prompt": "This request holds no user message that I could answer.",
    "no rule": (
        "I am the demo model: a small program with rules, not a language model, and none of my rules fits"
        " this prompt.\nWhat I can do, with the tools that the host offers:\n"
        "- compute: what is 18 * (4 + 2)?\n- read a file: read README.md\n"
        '- list a folder: list the files in notes\n- find a text: search for "milk"\n'
        "To ask a real model, set OPENAI_API_KEY and OPENAI_MODEL and run: python -m raw PROMPT"
    ),
}
CHINESE = {
    "calculator": "{subject} = {result}",
    "calculator failed": "{subject} 无法计算：{error}",
    "read_text_file": "{subject} 共 {count} 行，开头是：\n{quote}",
    "read_text_file empty": "{subject} 是空文件。",
    "read_text_file failed": "无法读取 {subject}：{error}",
    "list_directory": "{subject} 中有 {count} 项：{items}。{notes}",
    "list_directory empty": "{subject} 是空目录。",
    "list_directory failed": "无法列出 {subject}：{error}",
    "search_text": "找到“{subject}”共 {count} 处：\n{items}{notes}",
    "search_text empty": "没有找到“{subject}”。{notes}",
    "search_text failed": "搜索“{subject}”失败：{error}",
    "other": "{tool} 返回：{result}",
    "other failed": "{tool} 失败：{error}",
    "more": "……还有 {count} 项",
    "cut": "（工具只给出了一部分：{cut}。）",
    "skipped": "（未搜索：{skipped}。）",
    "unanswered": "调用 {id}（{tool}：{subject}）没有得到结果。",
    "not offered": "处理“{subject}”需要工具 {tool}，但这次请求没有提供它。",
    "no prompt": "这次请求里没有可以回答的用户消息。",
    "no rule": (
        "我是演示模型：一个按规则工作的小程序，不是语言模型；这条提示不符合我的任何一条规则。\n"
        "在宿主提供工具时，我能做的是：\n"
        "- 计算：计算 (17 * 23) + 9\n- 读取文件：读取 README.md\n"
        "- 列出目录：列出 notes 目录\n- 搜索文本：搜索“牛奶”\n"
        "要问真正的模型，请设置 OPENAI_API_KEY 和 OPENAI_MODEL，然后运行：python -m raw PROMPT"
    ),
}


@dataclass(frozen=True)
class Wish:
    """One tool call that a prompt asks for, and where in the prompt it does."""

    place: int
    tool: str
    arguments: dict[str, str]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The demo model's turn: `{"message": ..., "finish_reason": "tool_calls" or "stop"}`.

    `request` is the parsed body of a Chat Completions request. The rules of `wishes` are tried on its last
    user message, and the offered tools that they name are called, all in one turn; when that has happened,
    the answer is made from the tool messages. Everything follows from the request alone: no state, no time,
    no chance. A request of any shape gets a message that can be sent as UTF-8; nothing is raised.
    """
    body: dict[str, Any] = request if isinstance(request, dict) else {}
    messages = _dicts(body.get("messages"))
    last = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=None)
    if last is None:
        return _says(ENGLISH["no prompt"])
    prompt, turn = _text(messages[last].get("content")), messages[last + 1 :]
    words = CHINESE if _HAN.search(prompt) else ENGLISH
    offered, wanted = _offered(body), wishes(prompt)
    lacking = [
        words["not offered"].format(tool=wish.tool, subject=wish.arguments[SUBJECTS[wish.tool]])
        for wish in wanted
        if wish.tool not in offered
    ]
    calls = [wish for wish in wanted if wish.tool in offered]
    outcomes = _outcomes(turn, words)
    if calls and not outcomes:
        return _asks(calls, messages)
    return _says("\n".join(outcomes + lacking) or words["no rule"])


def _says(text: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


def _asks(calls: list[Wish], messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The turn that makes the calls, under ids that count on from the calls before and were never used."""
    before = [call for message in messages for call in _dicts(message.get("tool_calls"))]
    used = [call.get("id") for call in before] + [message.get("tool_call_id") for message in messages]
    taken = {name for name in used if isinstance(name, str)}
    made: list[dict[str, Any]] = []
    number = len(before)
    for wish in calls:
        number += 1
        while f"call_{number}" in taken:
            number += 1
        arguments = json.dumps(wish.arguments, ensure_ascii=False, separators=(",", ":"))
        function = {"name": wish.tool, "arguments": arguments}
        made.append({"id": f"call_{number}", "type": "function", "function": function})
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {"message": message, "finish_reason": "tool_calls"}


# ---- what a request says


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(content: Any) -> str:
    """The text of a message's content, half surrogate pairs replaced: what we say has to be sent as UTF-8."""
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in _dicts(content) if isinstance(part.get("text"), str))
    if not isinstance(content, str):
        return ""
    return content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _offered(body: dict[str, Any]) -> set[str]:
    """The names of the tools that may be called in this turn."""
    if body.get("tool_choice") == "none":
        return set()
    functions = _dicts([tool.get("function") for tool in _dicts(body.get("tools"))])
    return {function["name"] for function in functions if isinstance(function.get("name"), str)}


def _parsed(text: Any) -> Any:
    """The value of a JSON text, numbers as they were written; None for what is no JSON."""
    try:
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, TypeError, RecursionError):
        return None


# ---- from a prompt to calls

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# Lengths are bounded where a rule could begin anywhere: no prompt takes time by the square of its length.
_QUOTED = "(?:{})".format(
    "|".join(
        rf"{before}{first}[^{last}\n]{{1,200}}{last}"
        for before, first, last in [
            ("", '"', '"'),
            ("(?<![A-Za-z0-9])", "'", "'"),  # no apostrophe
            ("", "`", "`"),
            ("", "“", "”"),
            ("", "‘", "’"),
            ("", "「", "」"),
        ]
    )
)
_QUOTES = "\"'`“‘「"
# Latin only, because Chinese is written without spaces: in 读取README.md the name begins at R.
_PATH = r"(?<![A-Za-z0-9_~./-])[A-Za-z0-9_~./-]*[A-Za-z0-9_/~.]"
_NAME = r"(?<![A-Za-z0-9_~./-])[A-Za-z0-9_~./-]*[A-Za-z0-9_]"
_PHRASE = r"[^\s,;!?，。；！？](?:(?!\.(?:\s|$)|\s+(?:in|under|inside|and|then)\s)[^\n,;!?，。；！？])*"
_CLAUSE = r"(?:(?!\.\s|\s(?:and|then)\s|并|然后)[^\n,;!?，。；！？])*"

# Addresses hold dots and slashes, and no files of ours.
_ADDRESS = re.compile(
    r"(?:[A-Za-z]{2,9}://|www\.)[^\s，。；！？、“”\"'<>（）]+"
    r"|(?<![\w.+-])[\w.+-]+@[\w.-]+"
    r"|(?<![A-Za-z0-9.-])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|cn|edu|gov)\b(?:/[^\s，。；！？]*)?"
)
_SEARCH = re.compile(
    rf"\b(?:(?:search|grep)(?:\s+(?:in\s+|through\s+)?(?:the\s+)?(?P<where>{_QUOTED}|{_PATH}))?\s+for"
    rf"\s+(?P<phrase>{_QUOTED}|{_PHRASE})|(?:search|find|grep)\s+(?:all\s+)?(?P<quoted>{_QUOTED}))"
    rf"(?:\s+(?:in|under|inside)\s+(?:the\s+)?(?P<path>{_QUOTED}|{_PATH}))?",
    re.IGNORECASE,
)
_SEARCH_CHINESE = re.compile(
    rf"(?:在\s*(?P<path>{_QUOTED}|{_PATH})\s*(?:目录|文件夹)?(?:里面|中|里|下|内)?\s*)?"
    rf"(?:搜索|查找)(?:一下|文本)?[\s:：]*(?P<phrase>{_QUOTED}|{_PHRASE})"
)
_FILE_TO_READ = re.compile(
    r"(?:\b(?:read|open|show|cat|view|print|display)\s+(?:me\s+)?(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?"
    rf"(?:file\s+)?|(?:读取|打开|查看|阅读|读|看)(?:一下)?\s*(?:文件)?\s*)(?P<path>{_QUOTED}|{_NAME})",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"[A-Za-z]\.[A-Za-z]")  # e.g., i.e.
_QUOTED_FILE = re.compile(rf"(?P<path>{_QUOTED})")
_TEXT_FILES = (
    r"(?:txt|text|md|markdown|rst|adoc|tex|bib|log|csv|tsv|json|jsonl|toml|ya?ml|xml|html?|css|ini|cfg|conf|env|lock"
    r"|py|pyi|js|mjs|ts|tsx|jsx|sh|bash|c|h|cpp|hpp|cs|go|rs|java|kt|rb|php|pl|lua|r|sql|ipynb|diff|patch|pem|key)"
)
_CHINESE_NAME = (
    r"(?:(?<!\w)|(?<=[读取开看件]))(?:(?!读|取|打开|查看|看|把)[\u3400-\u9fff\d_-]){1,80}"
    r"(?:/[\w.-]{1,80}){0,9}"
)
_BARE_FILE = re.compile(
    rf"(?P<path>(?:{_CHINESE_NAME}|(?<![A-Za-z0-9_~./-])[A-Za-z0-9_~./-]*[A-Za-z0-9_~-])\.{_TEXT_FILES}"
    r"|(?<![A-Za-z0-9_~./-])(?:[A-Za-z0-9_~.-]+/)*(?:\.env|\.gitignore|Makefile|Dockerfile|LICENSE))"
    r"(?![A-Za-z0-9_/~-]|\.\w)"
)
_LIST = re.compile(
    r"(?:(?<!\ba )(?<!\bthe )(?<!\bthis )(?<!\bmy )(?<!\blinked )(?<![\w-])(?:list|ls)(?![\w-])|列出)"
    rf"(?P<clause>{_CLAUSE})",
    re.IGNORECASE,
)
_FOLDER_WORD = re.compile(r"目录|文件夹|\b(?:directory|folder)\b", re.IGNORECASE)
_FOLDER_NAME = re.compile(rf"{_QUOTED}|(?<![\w~./-])[A-Za-z0-9_~./][A-Za-z0-9_~./-]*")
_NO_FOLDER = re.compile(
    r"a|all|and|are|can|contain(?:s|ed)?|contents?|could|current|directory|directories|do|does|each|every"
    r"|everything|files?|folders?|for|from|here|hold|in|inside|is|its?|list|ls|me|my|names?|of|please|root|s|show|subdirectories"
    r"|tell|that|the|there|this|under|us|we|what|which|working|would|you|your",
    re.IGNORECASE,
)


def wishes(prompt: str) -> list[Wish]:
    """The calls that a prompt asks for, in its order, each once: searches, files, listings and sums.

    A stretch of the prompt that one rule has understood is not looked at by the next: in `search for "1+1"`
    there is nothing to compute. A folder is listed for the mere word only when nothing else was asked for.
    """
    rest = _ADDRESS.sub(_blank, prompt)
    found: list[Wish] = []
    for pattern, tool, arguments_of in _RULES:
        for match in pattern.finditer(rest):
            arguments = arguments_of(match)
            if arguments is not None:
                found.append(Wish(match.start(), tool, arguments))
                rest = rest[: match.start()] + _blank(match) + rest[match.end() :]
    found += [Wish(place, "calculator", {"expression": text}) for place, text in expressions(rest)]
    if not found and _FOLDER_WORD.search(rest):
        found.append(Wish(0, "list_directory", {"path": _folder(rest)}))
    ordered = sorted(found, key=lambda wish: wish.place)
    return list({(wish.tool, *wish.arguments.values()): wish for wish in reversed(ordered)}.values())[::-1]


def _blank(match: re.Match[str]) -> str:
    return "\n" * len(match.group())


def _unquoted(text: str) -> str:
    return text[1:-1] if text[0] in _QUOTES and len(text) > 2 else text.strip()


def _folder(text: str | None) -> str:
    """The folder that a stretch of text names: what is quoted or has a slash, else its only telling word."""
    names = [re.sub(r"(?<=[\w/])\.$", "", name) for name in _FOLDER_NAME.findall(text or "")]
    for name in names:
        if name[0] in _QUOTES or "/" in name or name == "..":
            return _unquoted(name)
    telling = [name for name in names if not _NO_FOLDER.fullmatch(name)]
    return telling[0] if len(telling) == 1 else "."


def _search_arguments(match: re.Match[str]) -> dict[str, str]:
    groups = match.groupdict()
    query = _unquoted(groups.get("quoted") or groups["phrase"])
    return {"query": query, "path": _folder(groups.get("where") or groups["path"])}


def _read_arguments(match: re.Match[str]) -> dict[str, str] | None:
    """After a word for reading, a file is what has an ending or a slash, or is one quoted word."""
    path = _unquoted(match["path"])
    is_quoted_word = match["path"][0] in _QUOTES and re.fullmatch(r"[\w.~/-]*[^\W\d][\w.~/-]*", path)
    is_path = re.search(r"[A-Za-z].*/|/.*[A-Za-z]|(?:^|\w)\.[A-Za-z]\w*$", path)
    return {"path": path} if (is_quoted_word or is_path) and not _ABBREVIATION.fullmatch(path) else None


def _quoted_arguments(match: re.Match[str]) -> dict[str, str] | None:
    path = _unquoted(match["path"])
    is_file = re.search(r"\w\.[A-Za-z][A-Za-z0-9]{0,9}$", path) and not _ABBREVIATION.fullmatch(path)
    return {"path": path} if is_file else None


def _named_arguments(match: re.Match[str]) -> dict[str, str]:
    return {"path": match["path"]}


def _list_arguments(match: re.Match[str]) -> dict[str, str]:
    return {"path": _folder(match["clause"])}


_RULES: tuple[tuple[re.Pattern[str], str, Callable[[re.Match[str]], dict[str, str] | None]], ...] = (
    (_SEARCH, "search_text", _search_arguments),
    (_SEARCH_CHINESE, "search_text", _search_arguments),
    (_FILE_TO_READ, "read_text_file", _read_arguments),
    (_QUOTED_FILE, "read_text_file", _quoted_arguments),
    (_BARE_FILE, "read_text_file", _named_arguments),
    (_LIST, "list_directory", _list_arguments),
)

# ---- arithmetic in prose

_TO_ASCII = str.maketrans("０１２３４５６７８９（）＋－＊／．％＾×÷−", "0123456789()+-*/.%^*/-")
_DATE = re.compile(
    r"(?<![\d*+/%^(-])(?:\d{4}([-/])\d{1,2}\1\d{1,2}|\d{1,2}([-/])\d{1,2}\2\d{4})(?![\d*+/%^-])", re.ASCII
)
_TOKEN = re.compile(
    r"(?P<number>(?<!\d:)(?:\d{1,3}(?:,\d{3})+(?!,?\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?"
    r"(?![A-Za-z0-9_]|\.\d|:\d))"
    r"|(?P<word>[A-Za-z0-9_.]+)"  # a name, or a number that is part of one: x, 3rd, v1.2
    r"|(?P<times>\*\*|//|[*/^]|(?<=\s)%|%(?=\s*[\d(.]))"  # 50% is no division
    r"|(?P<sign>[+-])|(?P<open>\()|(?P<close>\))",
    re.ASCII,
)
_OPERANDS = frozenset({"number", "word", "close"})


def expressions(text: str) -> Iterator[tuple[int, str]]:
    """The arithmetic expressions in a text, with their places, in the calculator's signs.

    ×, ÷, ^ and full-width signs become ASCII, and 1,000 becomes 1000. Dates are no expressions, neither are
    single numbers, and what has a name in it (x + 1, f(2 + 3), GPT-4) is algebra or prose.
    """
    text = _DATE.sub(_blank, text.translate(_TO_ASCII))
    run: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        if run and not _joins(run[-1], token):
            yield from _sums(run)
            run = []
        run.append(token)
    yield from _sums(run)


def _joins(left: re.Match[str], right: re.Match[str]) -> bool:
    """Whether two tokens in a row can be parts of one expression."""
    gap = left.string[left.end() : right.start()]
    if gap.strip(" \t"):
        return False
    if left.lastgroup not in _OPERANDS:
        is_dash = gap and right.lastgroup == "word" and len(right.group()) > 1 and left.group() in ("-", "**")
        return right.lastgroup in ("number", "word", "open", "sign") and not is_dash
    if right.lastgroup == "open":
        return not gap  # 2(3 + 4) is a product, compute (3 + 4) is none
    if left.lastgroup == "word" and right.lastgroup == "sign" and gap:
        after = right.string[right.end() : right.end() + 1]
        # In "compute -5 + 3" the sign belongs to the number, in "the sum - 1 + 1" it is a dash.
        return after.isspace() and (right.group() == "+" or len(left.group()) == 1)
    return right.lastgroup in ("sign", "times", "close")


def _sums(run: list[re.Match[str]]) -> Iterator[tuple[int, str]]:
    """The expressions in a run of tokens that could be one; brackets without a partner divide it."""
    if any(token.lastgroup == "word" for token in run):
        return
    unmatched, opened = set[int](), list[int]()
    for index, token in enumerate(run):
        if token.lastgroup == "open":
            opened.append(index)
        elif token.lastgroup == "close":
            unmatched |= set() if opened else {index}
            del opened[-1:]
    start = 0
    for end in [*sorted(unmatched | set(opened)), len(run)]:
        part = _trimmed(run[start:end])
        if sum(token.lastgroup == "number" for token in part) > 1:
            yield part[0].start(), _written(part)
        start = end + 1


def _trimmed(part: list[re.Match[str]]) -> list[re.Match[str]]:
    """Without operators at the end, and without bullets at the start: operators that stand apart."""
    start, end = 0, len(part)
    while start < end and part[end - 1].lastgroup in ("sign", "times"):
        end -= 1
    while start < end and (
        part[start].lastgroup == "times"
        or (part[start].lastgroup == "sign" and part[start].end() != part[start + 1].start())
    ):
        start += 1
    return part[start:end]


def _written(part: list[re.Match[str]]) -> str:
    text = part[0].group().replace(",", "")
    for left, right in pairwise(part):
        product = "*" if right.lastgroup == "open" and left.lastgroup in _OPERANDS else ""
        gap = left.string[left.end() : right.start()]
        text += product + gap + right.group().replace(",", "").replace("^", "**")
    return text


# ---- from observations to an answer

# The wordings of LangGraph's ToolNode; there, only the words tell a failure from a result.
_TOOL_NODE_ERROR = re.compile(
    r"Error(?:: | (?:invoking|executing) tool .*? with error:\n )(.*?)(?:\n Please fix [^\n]*)?", re.DOTALL
)
_EXCEPTION = re.compile(r"""\w+\((["'])(.*)\1\)""", re.DOTALL)


def _outcomes(turn: list[dict[str, Any]], words: dict[str, str]) -> list[str]:
    """What became of each call since the prompt: the results in their order, then the calls without one."""
    calls = [call for message in turn for call in _dicts(message.get("tool_calls"))]
    results = [message for message in turn if message.get("role") == "tool"]
    lines = []
    for result in results:
        call = next((call for call in calls if call.get("id") == result.get("tool_call_id")), {})
        lines.append(_outcome(*_tool_and_subject(call), _text(result.get("content")), words))
    answered = [result.get("tool_call_id") for result in results]
    for call in calls:
        if call.get("id") not in answered:
            tool, subject = _tool_and_subject(call)
            name = _text(str(call.get("id")))
            lines.append(words["unanswered"].format(id=name, tool=tool, subject=subject))
    return lines


def _tool_and_subject(call: dict[str, Any]) -> tuple[str, str]:
    """The name of the tool that was called, and what it was asked about."""
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    tool, written = _text(function.get("name")), _text(function.get("arguments"))
    arguments = _parsed(written)
    subject = arguments.get(SUBJECTS.get(tool)) if isinstance(arguments, dict) else None
    return tool or "?", _text(subject) or _cut(written)


def _outcome(tool: str, subject: str, content: str, words: dict[str, str]) -> str:
    """One observation in words."""
    kind = tool if tool in SUBJECTS else "other"
    succeeded, result = _observation(content)
    if not succeeded:
        return words[f"{kind} failed"].format(tool=tool, subject=subject, error=_text(result))
    if kind == "read_text_file":
        return _file_in_words(subject, _shown(result), words)
    if kind in ("list_directory", "search_text"):
        return _items_in_words(kind, subject, result, words)
    return words[kind].format(tool=tool, subject=subject, result=_cut(_shown(result)))


def _observation(content: str) -> tuple[bool, Any]:
    """Whether the tool succeeded, and its result or error: from our envelope, else from the bare text."""
    match _parsed(content):
        case {"ok": True, "result": result, **rest} if not rest:
            return True, result
        case {"ok": False, "error": error}:
            return False, _shown(error)
    failure = _TOOL_NODE_ERROR.fullmatch(content)
    if not failure:
        return True, content
    exception = _EXCEPTION.fullmatch(failure[1])
    return False, exception[2] if exception else failure[1]


def _file_in_words(path: str, text: str, words: dict[str, str]) -> str:
    if not text:
        return words["read_text_file empty"].format(subject=path)
    lines = text.removesuffix("\n").split("\n")
    return words["read_text_file"].format(
        subject=path, count=len(lines), quote=_quoted([_cut(line) for line in lines[:LINES_QUOTED]])
    )


def _items_in_words(kind: str, subject: str, result: Any, words: dict[str, str]) -> str:
    """A listing or the matches of a search: how many, the first ones, and what the tool left out."""
    parsed = _parsed(result) if isinstance(result, str) else result
    value = parsed if isinstance(parsed, list | dict) else _shown(result).splitlines()
    rest = value if isinstance(value, dict) else {}
    items = next((part for part in rest.values() if isinstance(part, list)), value)
    items = items if isinstance(items, list) else [items]
    cut, skipped = rest.get("cut"), rest.get("skipped")
    notes = words["cut"].format(cut=_shown(cut)) if cut else ""
    notes += words["skipped"].format(skipped=_pairs(skipped)) if skipped else ""
    if not items:
        return words[f"{kind} empty"].format(subject=subject, notes=notes)
    named = [_cut(_item(item)) for item in items[:ITEMS_NAMED]]
    if len(items) > ITEMS_NAMED:
        named.append(words["more"].format(count=len(items) - ITEMS_NAMED))
    text = _quoted(named) if kind == "search_text" else ", ".join(named)
    return words[kind].format(subject=subject, count=len(items), items=text, notes=notes)


def _item(item: Any) -> str:
    match item:
        case {"path": path, "line": line, "text": text}:
            return f"{_shown(path)}:{_shown(line)}: {_shown(text)}"
        case {"name": name, **rest}:
            return _shown(name) + ("/" if rest.get("kind") == "directory" else "")
    return _shown(item)


def _pairs(value: Any) -> str:
    if not isinstance(value, dict):
        return _shown(value)
    return ", ".join(f"{_text(key)} {_shown(part)}" for key, part in value.items())


def _shown(value: Any) -> str:
    try:
        return _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    except RecursionError:  # the writer of JSON gives up some levels before its reader does
        return "[…]"


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS_QUOTED else text[:CHARACTERS_QUOTED] + "…"


def _quoted(lines: list[str]) -> str:
    return "\n".join(f"> {line}" for line in lines)
