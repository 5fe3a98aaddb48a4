"""What the demo model says, in the two languages of this project's prompts."""

import re

ENGLISH = {
    "calculator": "{subject} = {result}",
    "read_text_file": "{subject} begins as follows (number of lines: {count}):\n{items}",
    "read_text_file empty": "{subject} is empty.",
    "list_directory": "{subject} holds {count}: {items}. {notes}",
    "list_directory empty": "{subject} is empty.",
    "search_text": "“{subject}” was found (number of lines: {count}):\n{items}\n{notes}",
    "search_text empty": "“{subject}” was not found. {notes}",
    "search_docs": "On “{subject}” the documents say (number of documents: {count}):\n{items}",
    "search_docs empty": "No document holds “{subject}”.",
    "failed": "{subject} gave an error: {error}",
    "more": "… and {count} more",
    "cut": "(Cut by the tool: {cut}.)",
    "skipped": "(Not searched: {skipped}.)",
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
    "read_text_file": "{subject} 共 {count} 行，开头是：\n{items}",
    "read_text_file empty": "{subject} 是空文件。",
    "list_directory": "{subject} 中有 {count} 项：{items}。{notes}",
    "list_directory empty": "{subject} 是空目录。",
    "search_text": "找到“{subject}”共 {count} 处：\n{items}\n{notes}",
    "search_text empty": "没有找到“{subject}”。{notes}",
    "search_docs": "关于“{subject}”，文档写道（{count} 篇）：\n{items}",
    "search_docs empty": "没有文档包含“{subject}”。",
    "failed": "{subject} 出错：{error}",
    "more": "……还有 {count} 项",
    "cut": "（工具只给出了一部分：{cut}。）",
    "skipped": "（未搜索：{skipped}。）",
    "unanswered": "调用 {id}（{tool}：{subject}）没有得到结果。",
    "not offered": "处理“{subject}”需要工具 {tool}，但这次请求没有提供它。",
    "no prompt": ENGLISH["no prompt"],  # where there is no prompt, its language is unknown
    "no rule": (
        "我是演示模型：一个按规则工作的小程序，不是语言模型；这条提示不符合我的任何一条规则。\n"
        "在宿主提供工具时，我能做的是：\n"
        "- 计算：计算 (17 * 23) + 9\n- 读取文件：读取 README.md\n"
        "- 列出目录：列出 notes 目录\n- 搜索文本：搜索“牛奶”\n"
        "要问真正的模型，请设置 OPENAI_API_KEY 和 OPENAI_MODEL，然后运行：python -m raw PROMPT"
    ),
}

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def words_for(prompt: str) -> dict[str, str]:
    """The wording in the language of the prompt: Chinese where it holds one Chinese character."""
    return CHINESE if _HAN.search(prompt) else ENGLISH
