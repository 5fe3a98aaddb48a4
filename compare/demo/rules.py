"""Which tool calls a prompt asks for."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from compare.demo.arithmetic import expressions

SUBJECTS = {
    "calculator": "expression",
    "read_text_file": "path",
    "list_directory": "path",
    "search_text": "query",
    "search_docs": "query",
}
"""The argument of each tool that says what it is asked about."""

# Lengths are bounded where a rule could begin anywhere: no prompt takes time by the square of its length.
_QUOTES = "\"'`“”‘’「」"
_QUOTED = rf"(?<![A-Za-z0-9])[{_QUOTES}][^{_QUOTES}\n]{{1,200}}[{_QUOTES}]"  # after a letter: an apostrophe
# Latin only, because Chinese is written without spaces: in 读取README.md the name begins at R.
_LATIN = r"(?<![A-Za-z0-9_~./-])[A-Za-z0-9_~./-]*"
_FOLDER = rf"(?:{_QUOTED}|{_LATIN}(?:[A-Za-z0-9_~/]|\.\.))"
_STRETCH = r"(?:(?!(?<![.\s])\.(?:\s|$)|\s(?:{})\s)[^\n,;!?，。；！？])"  # up to the end of a clause, or to a word
_PHRASE = _STRETCH.format("and|then|in|under|inside") + "+"
_ENDING = (
    r"\.(?:txt|md|rst|tex|log|csv|tsv|jsonl?|toml|ya?ml|xml|html?|css|ini|cfg|conf|env|lock|pem|key"
    r"|py|js|ts|sh|c|h|cpp|go|rs|java|rb|sql)(?![A-Za-z0-9_/~-]|\.\w)"
)

# Addresses hold dots and slashes, and no files of ours.
_ADDRESS = re.compile(
    r"(?:[A-Za-z]{2,9}://|www\.)[!-~]+|(?<![\w.+-])[\w.+-]+@[\w.-]+"
    r"|(?<![A-Za-z0-9.-])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|cn|edu|gov)\b(?:/[!-~]*)?"
)
_SEARCH = re.compile(
    rf"\b(?:(?:search|grep)\s(?:(?:in\s)?(?:the\s)?(?P<where>{_FOLDER})\s)?for|(?:search|find|grep)(?=\s{_QUOTED}))"
    rf"\s(?P<phrase>{_QUOTED}|{_PHRASE})(?:\s(?:in|under|inside)\s(?:the\s)?(?P<path>{_FOLDER}))?",
    re.IGNORECASE,
)
_SEARCH_CHINESE = re.compile(
    rf"(?:在\s?(?P<where>{_FOLDER})\s?(?:目录|文件夹)?(?:里面|中|里|下|内)?\s?)?"
    rf"(?:搜索|查找)(?:一下|文本)?[ :：]?(?P<phrase>{_QUOTED}|{_PHRASE})"
)
_LOOK_UP = re.compile(
    rf"\blook\sup\s(?P<phrase>{_QUOTED}|{_PHRASE})\sin\s(?:the\s)?(?:docs|documents|documentation)\b"
    rf"|文档[里中]\s?查阅(?:一下)?[ :：]?(?P<chinese>{_QUOTED}|{_PHRASE})",
    re.IGNORECASE,
)
_FILE_TO_READ = re.compile(
    r"(?:\b(?:read|open|show|cat|view|print|display)\s(?:(?:me|the|file|contents?|of)\s){0,5}"
    r"|(?:读取|打开|查看|阅读|看看|读|看)(?:一下)?\s?(?:文件)?\s?)"
    rf"(?P<path>{_QUOTED}|[\w/-]{{1,80}}{_ENDING}|{_LATIN}[A-Za-z0-9_])",
    re.IGNORECASE,
)
_FILE = re.compile(
    rf"(?P<path>(?<![A-Za-z0-9])[{_QUOTES}][^{_QUOTES}\n]{{1,200}}{_ENDING}[{_QUOTES}]|{_LATIN}[A-Za-z0-9_~-]{_ENDING})"
)
_LIST = re.compile(
    # As a command: at the start of a sentence or clause. "a linked list" and "the list" ask for nothing.
    r"(?:(?:^|[^A-Za-z0-9\s-]|\b(?:and|then|please|you|to|me)\b)[ \t]*\b(?:list|ls)\b(?!-)|列出)"
    rf"(?P<clause>{_STRETCH.format('and|then')}*)",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
_LIST_ALONE = re.compile(r"\W*(?:list|ls|列出)\W*", re.IGNORECASE)
_FOLDER_WORD = re.compile(r"目录|文件夹|\b(?:directory|folder)\b", re.IGNORECASE)
_FILES_WORD = re.compile(rf"{_FOLDER_WORD.pattern}|文件|\b(?:directories|folders|files?)\b", re.IGNORECASE)
_FOLDER_NAME = re.compile(rf"{_QUOTED}|(?<![\w~./-])[A-Za-z0-9_~./][A-Za-z0-9_~./-]*")
_NO_FOLDER = re.compile(
    r"a|all|and|are|can|contents?|contains?|current|directory|directories|do|does|each|every|everything|files?|folders?"
    r"|for|here|in|inside|is|its?|list|ls|me|my|names?|of|please|root|show|tell|that|the|there|this|under|us|what|which"
    r"|working|you|your",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wish:
    """One tool call that a prompt asks for, and where in the prompt it does."""

    place: int
    tool: str
    arguments: dict[str, str]


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
        found.append(Wish(0, "list_directory", {"path": _folder(rest) or "."}))
    ordered = sorted(found, key=lambda wish: wish.place)
    return list({(wish.tool, *wish.arguments.values()): wish for wish in reversed(ordered)}.values())[::-1]


def _blank(match: re.Match[str]) -> str:
    return "\n" * len(match.group())


def _unquoted(text: str) -> str:
    return text.strip().strip(_QUOTES) or text


def _folder(text: str) -> str | None:
    """The folder that a stretch of text names: what is quoted or has a slash, else its only telling word."""
    names = _FOLDER_NAME.findall(text)
    for name in names:
        if name[0] in _QUOTES or "/" in name or name == "..":
            return _unquoted(name)
    telling = [name for name in names if not _NO_FOLDER.fullmatch(name)]
    return telling[0] if len(telling) == 1 else None


def _search_arguments(match: re.Match[str]) -> dict[str, str]:
    folder = match["where"] or match.groupdict().get("path") or "."
    return {"query": _unquoted(match["phrase"]), "path": _unquoted(folder)}


def _look_up_arguments(match: re.Match[str]) -> dict[str, str]:
    return {"query": _unquoted(match["phrase"] or match["chinese"])}


def _read_arguments(match: re.Match[str]) -> dict[str, str] | None:
    """After a word for reading, a file is what has an ending or a slash, is one quoted word, or is known without."""
    path = _unquoted(match["path"])
    is_quoted_word = path != match["path"] and re.fullmatch(r"[\w.~/-]+", path)
    is_path = re.search(r"[A-Za-z].*/|/.*[A-Za-z]|(?:^|\w)\.[A-Za-z]\w+$|^(?:Makefile|LICENSE)$", path)
    return {"path": path} if is_quoted_word or is_path else None


def _file_arguments(match: re.Match[str]) -> dict[str, str]:
    return {"path": _unquoted(match["path"])}


def _list_arguments(match: re.Match[str]) -> dict[str, str] | None:
    """The root needs a word for it, because much can be listed that is no folder: list three colours."""
    is_root = _FILES_WORD.search(match["clause"]) or _LIST_ALONE.fullmatch(match.string)
    folder = _folder(match["clause"]) or ("." if is_root else None)
    return None if folder is None else {"path": folder}


_RULES: tuple[tuple[re.Pattern[str], str, Callable[[re.Match[str]], dict[str, str] | None]], ...] = (
    (_LOOK_UP, "search_docs", _look_up_arguments),
    (_SEARCH, "search_text", _search_arguments),
    (_SEARCH_CHINESE, "search_text", _search_arguments),
    (_FILE_TO_READ, "read_text_file", _read_arguments),
    (_FILE, "read_text_file", _file_arguments),
    (_LIST, "list_directory", _list_arguments),
)
