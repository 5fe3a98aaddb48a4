"""The lessons, and the Chinese README, say what is so: every command in them runs, and every exercise can be solved."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from compare.scenario import catalogue
from tests.readme_parts import README, ROOT

LEARN = ROOT / "docs" / "learn"
EXERCISES = LEARN / "exercises"
CHINESE = LEARN / "zh-CN"
README_CHINESE = ROOT / "README.zh-CN.md"
LESSONS = sorted(path.name for path in LEARN.glob("[0-9]-*.md"))
PAGES = [*sorted(LEARN.glob("*.md")), *sorted(CHINESE.glob("*.md")), README_CHINESE]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PORT = "8040"
SCENARIOS = {path.stem for path in catalogue()}

SUM = """        call = message["tool_calls"][0]
        observation = execute(by_name, call["function"]["name"], call["function"]["arguments"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": observation})
"""
LOOP = '        for call in message["tool_calls"]:\n'
CARRIED_OUT = """    tool = by_name[call["function"]["name"]]
    arguments = json.loads(call["function"]["arguments"])
    result = tool.function(**arguments)
    return json.dumps({"ok": True, "result": result})
"""
CAUGHT = """    except {}:
        return json.dumps({{"ok": False, "error_type": type(error).__name__, "error": str(error)}})
"""


def indented(text: str) -> str:
    """The lines, one level deeper."""
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def guarded(exceptions: str) -> str:
    """The lines of lesson 5 that carry out a call, with what they raise caught."""
    return f"    try:\n{indented(CARRIED_OUT)}{CAUGHT.format(exceptions)}"


Patch = tuple[str, dict[str, str]]
"""A file, and what is put in place of what in it."""

SOLUTIONS: dict[str, Patch] = {
    "1": ("step1_request.py", {"# Exercise: offer the calculator.": '"tools": [CALCULATOR],'}),
    "2": (
        "step2_back.py",
        {"# Exercise: the model's message has to be in the list before its results are.": "messages.append(message)"},
    ),
    "3": ("step3_result.py", {'"content": observation}': '"tool_call_id": call["id"], "content": observation}'}),
    "4": ("step4_two_calls.py", {SUM: LOOP + indented(SUM.split("\n", 1)[1])}),
    "5": ("step5_errors.py", {CARRIED_OUT: guarded("Exception as error")}),
    "6": (
        "step6_limit.py",
        {
            "while True:": "for _ in range(max_rounds):",
            'return messages, "answer"': (
                'return messages, "cut-off" if reply["choices"][0]["finish_reason"] == "length" else "answer"'
            ),
            '"content": observation})\n': '"content": observation})\n    return messages, "round-limit"\n',
        },
    ),
    "7": (
        "step7_tool.py",
        {
            "return 0": "return len(text.split())",
            '"properties": {}': '"properties": {"text": {"type": "string"}}, "required": ["text"]',
        },
    ),
    "8": ("step8_mine.toml", {"# Exercise: let": 'finish_reason = "length"\n# Let'}),
}

MISTAKES: list[tuple[str, Patch, str]] = [
    (
        "2",
        (
            "step2_back.py",
            {
                "# Exercise: the": "messages.append({key: message[key] for key in KEPT if key in message})  # the",
                "def run": 'KEPT = ("role", "content", "tool_calls")\n\n\ndef run',
            },
        ),
        "lost-field at messages[1].reasoning_content",
    ),
    (
        "3",
        ("step3_result.py", {'"content": observation}': '"tool_call_id": "call_1", "content": observation}'}),
        "list-then-read",
    ),
    (
        "3",
        (
            "step3_result.py",
            {'"content": observation}': '"tool_call_id": call["id"], "content": {"result": observation}}'},
        ),
        "would-be-refused at messages[2].content",
    ),
    ("5", ("step5_errors.py", {CARRIED_OUT: guarded("(KeyError, ValueError) as error")}), "TypeError"),
    (
        "6",
        (
            "step6_limit.py",
            {
                "while True:": "for _ in range(max_rounds - 1):",
                '"content": observation})\n': '"content": observation})\n    return messages, "round-limit"\n',
            },
        ),
        "endless-caller",
    ),
    (
        "7",
        ("step7_tool.py", {'"properties": {}': '"properties": {"text": {"type": "string"}}, "required": ["text"]'}),
        "are 6 words",
    ),
    ("8", SOLUTIONS["8"], "executed-despite-cut-off messages[1].tool_calls[0]. Look at it, then: diptych accept"),
]
"""A lesson, a filling that is wrong in one way, and what the check says of it."""


def blocks(path: Path, kind: str) -> list[str]:
    """The blocks of this kind in a page."""
    return [text for name, text in BLOCK.findall(path.read_text(encoding="utf-8")) if name == kind]


def commands(path: Path) -> list[str]:
    """The commands of a page, in order, without the remarks behind them."""
    lines = "".join(blocks(path, "console")).splitlines()
    return [re.split(r"\s+# ", line)[0].removeprefix("$ ") for line in lines if line.startswith("$ ")]


def put(folder: Path, patch: Patch) -> None:
    """Change a file as the patch says; each place is there."""
    path, text = folder / patch[0], (folder / patch[0]).read_text(encoding="utf-8")
    for old, new in patch[1].items():
        assert old in text, f"{path.name} has no {old!r}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


class Desk:
    """A learner's copy of the exercises, and the terminals; the port of the lessons is one that is free."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        shutil.copytree(EXERCISES, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for path in folder.iterdir():
            path.write_text(path.read_text(encoding="utf-8").replace(PORT, self.port), encoding="utf-8")
        ours = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": ours, "COLUMNS": "100"}
        self.serving: subprocess.Popen[str] | None = None

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        words = shlex.split(command)
        return subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=120, cwd=self.folder, env=self.env
        )

    def serve(self, command: str) -> None:
        """Begin to serve in the first terminal."""
        words = shlex.split(command.replace(PORT, self.port))
        pipe = subprocess.PIPE
        self.serving = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, cwd=self.folder, env=self.env)
        assert self.serving.stdout is not None
        said = iter(self.serving.stdout.readline, "")
        assert any(line.startswith("Point your client there") for line in said)

    def follow(self, lines: list[str]) -> str:
        """Type the commands in; returns what is to be seen. Each ends with 0 or 1, and none with a traceback."""
        seen = []
        for line in lines:
            if line.startswith("diptych serve"):
                self.serve(line)
            else:
                ran = self.run(line)
                assert ran.returncode in (0, 1), ran.stderr
                seen.append(ran.stdout + ran.stderr)
        if self.serving is not None:
            self.serving.send_signal(signal.SIGINT)
            report, notes = self.serving.communicate(timeout=60)
            assert self.serving.returncode in (0, 1), notes
            seen.append(report)
        assert "Traceback" not in "".join(seen)
        return "\n".join(seen)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A fresh copy of the exercises."""
    desk = Desk(tmp_path / "exercises")
    yield desk
    if desk.serving is not None and desk.serving.returncode is None:  # the test failed
        desk.serving.kill()
        desk.serving.communicate()


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_can_be_followed(desk: Desk, name: str) -> None:
    """Its commands run and show what it says; its check says what is missing, and then that it is solved."""
    number = name[0]
    *lines, check = commands(LEARN / name)
    assert check == f"python check.py {number}"
    first, second = [[line for line in lines if line.startswith("diptych accept") is late] for late in (False, True)]
    seen = desk.follow(first)
    for line in "".join(blocks(LEARN / name, "text")).splitlines():
        assert line.strip() in seen
    before = desk.run(check)
    assert (1, "") == (before.returncode, before.stdout)
    assert re.fullmatch(rf"lesson {number}: not yet\. .+\n", before.stderr)
    put(desk.folder, SOLUTIONS[number])
    desk.follow(second)
    after = desk.run(check)
    assert (0, f"lesson {number}: solved\n") == (after.returncode, after.stdout), after.stderr


@pytest.mark.parametrize(("number", "patch", "named"), MISTAKES)
def test_a_wrong_filling_is_told_why(desk: Desk, number: str, patch: Patch, named: str) -> None:
    """A check that is content with half a solution would teach the wrong half."""
    put(desk.folder, patch)
    ran = desk.run(f"python check.py {number}")
    assert (1, "") == (ran.returncode, ran.stdout)
    assert named in ran.stderr


def test_a_syntax_error_is_told_in_one_line(desk: Desk) -> None:
    """A learner's file may hold anything."""
    put(desk.folder, ("step2_back.py", {"def run(": "def run"}))
    ran = desk.run("python check.py 2")
    assert ran.returncode == 1
    assert re.fullmatch(r"lesson 2: not yet\. .*SyntaxError.*\n", ran.stderr)


@pytest.mark.parametrize("arguments", ["", "9"])
def test_a_lesson_that_is_none_is_wrong_usage(desk: Desk, arguments: str) -> None:
    """One line says what there is."""
    ran = desk.run(f"python check.py {arguments}")
    assert (2, "") == (ran.returncode, ran.stdout)
    assert "a number from 1 to 8" in ran.stderr


def test_the_way_to_the_first_lesson(tmp_path: Path) -> None:
    """The commands of the index lead to a folder in which a check runs."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    make, *lines = commands(LEARN / "README.md")
    assert f"\n{make.removeprefix('make ')}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    env = {**os.environ, "HOME": str(tmp_path)}
    ran = subprocess.run(
        ["/bin/sh", "-e", "-c", "\n".join(lines)], capture_output=True, text=True, check=False, cwd=tmp_path, env=env
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("lesson 1: not yet. ")


def test_both_languages_have_the_same_pages() -> None:
    """A lesson is never in one language only."""
    assert [path.name for path in sorted(LEARN.glob("*.md"))] == [path.name for path in sorted(CHINESE.glob("*.md"))]


@pytest.mark.parametrize("name", ["README.md", *LESSONS])
def test_both_languages_say_the_same(name: str) -> None:
    """The same headings by level, and the same blocks: commands, what is to be seen, code."""
    pages = [(folder / name).read_text(encoding="utf-8") for folder in (LEARN, CHINESE)]
    english, chinese = [(re.findall(r"^#+ ", BLOCK.sub("", page), re.MULTILINE), BLOCK.findall(page)) for page in pages]
    assert english == chinese


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_short(name: str) -> None:
    """Eighty lines at the most, with a title and four parts."""
    text = (LEARN / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert ["The command", "What to look at", "What to change", "Check"] == re.findall("^## (.*)", text, re.MULTILINE)


@pytest.mark.parametrize("name", LESSONS)
def test_code_that_a_lesson_shows_is_there(name: str) -> None:
    """What is shown of the graph and of the catalogue stands there, line for line."""
    sources = [ROOT / "src" / "lc" / "graph.py", *catalogue()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    for line in "".join([*blocks(LEARN / name, "python"), *blocks(LEARN / name, "toml")]).splitlines():
        assert line in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_are_there(page: Path) -> None:
    """Each relative link leads to a file, and to a heading in it; each file that is named is there."""
    text = page.read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), anchor
    for name in re.findall(r"`((?:src|tests|compare)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`diptych run ([\w-]+)", text):
        assert name in SCENARIOS, name
    for name in re.findall(r"`(step\w+\.\w+)`", text):
        assert (EXERCISES / name).exists(), name


def anchors(path: Path) -> set[str]:
    """The names by which a page's headings can be linked."""
    headings = re.findall(r"^#+ (.*)", BLOCK.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_chinese_readme_has_only_commands_of_the_english_one() -> None:
    """Those are checked where they stand."""
    known = commands(README)
    assert [] == [line for line in commands(README_CHINESE) if line not in known]


def test_what_the_chinese_readme_shows_stands_in_the_english_one() -> None:
    """Samples and code, line for line: those are checked where they stand."""
    known = README.read_text(encoding="utf-8").splitlines()
    shown = "".join(
        body for kind, body in BLOCK.findall(README_CHINESE.read_text(encoding="utf-8")) if kind != "console"
    )
    assert [] == [line for line in shown.splitlines() if line not in known]


def test_each_language_leads_to_the_other() -> None:
    """By the first line of the page."""
    assert README_CHINESE.read_text(encoding="utf-8").startswith("[English](README.md) | 简体中文\n")
    assert (LEARN / "README.md").read_text(encoding="utf-8").startswith("English | [简体中文](zh-CN/README.md)\n")
    assert (CHINESE / "README.md").read_text(encoding="utf-8").startswith("[English](../README.md) | 简体中文\n")
