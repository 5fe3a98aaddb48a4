"""A wrong scenario file is refused in one line, with the mend."""

from pathlib import Path

import pytest

from compare.scenario import ScenarioError, load
from tests.scenarios import CALL, EXPECT, HEAD, REPLY, write


def refusal(folder: Path, text: str) -> str:
    """What a wrong file is told, after the name of the file; always one line."""
    path = write(folder, text)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    message = str(caught.value)
    assert [message] == message.splitlines()
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ": the file is empty; it needs title, teaches, prompt, [[reply]]"),
        (" \n\n", ": the file is empty; it needs title, teaches, prompt, [[reply]]"),
        (
            'title = "a"\nteaches\n',
            ":2: not TOML: Expected '=' after a key in a key/value pair (at line 2, column 8)",
        ),
        ('title = "a"\ntitle = "b"\n', ":2: not TOML: Cannot overwrite a value (at line 2, column 12)"),
        ('title = "a"\nteaches = """b\n\n', ":4: not TOML: Unterminated string (at end of document)"),
        ("a = " + "[" * 5000, ": nested too deeply to be read"),
        ("# only a comment\n", ": 'title' is missing; write title = \"...\" above the first [table]"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    """A syntax error names the line on which it stands."""
    assert told == refusal(tmp_path, text)


def test_a_number_that_python_will_not_read_is_refused(tmp_path: Path) -> None:
    """Python limits the digits of an integer, and its complaint carries no line."""
    assert refusal(tmp_path, HEAD + "max_rounds = " + "9" * 5000).startswith(": not TOML: Exceeds the limit")


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    """The error names the byte and the line, since other editors save other encodings."""
    path = tmp_path / "x.toml"
    path.write_bytes(b'title = "a"\nteaches = "caf\xe9"\n')
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert f"{path}:2: byte 0xe9 is not UTF-8; save the file as UTF-8" == str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A folder in the place of a file, or a file that is gone, is told in the system's words."""
    with pytest.raises(ScenarioError, match="cannot be read: Is a directory"):
        load(tmp_path)
    with pytest.raises(ScenarioError, match="cannot be read: No such file or directory"):
        load(tmp_path / "gone.toml")


TOP_CASES = [
    ('titel = "a"\n' + HEAD, "'titel' is not a key here; did you mean 'title'?"),
    (
        HEAD + "zzz = 1\n",
        "'zzz' is not a key here; the keys are title, teaches, prompt, system, max_rounds, model, "
        "modes, timeout, stands_for, workspace, write, profiles, reply, expect, expect_stream",
    ),
    (HEAD + '"a\\nb\\u001b" = 1\n', "'a\\nb\\x1b' is not a key here; the keys are title, "),
    (HEAD.replace('"A title"', "5"), "'title' is an integer, but must be a string: title = \"...\""),
    (HEAD.replace('"A title"', '" "'), "'title' is empty; write some text"),
    (
        HEAD.replace('"A title"', '"a\\nb"'),
        "'title' has more than one line; it is shown in a table, so",
    ),
    (HEAD.replace('"One sentence."', '"a\\nb"'), "'teaches' has more than one line"),
    (HEAD.replace('"Say hello."', "1979-05-27"), "'prompt' is a date or time, but must be a string"),
    (
        HEAD.replace('prompt = "Say hello."\n', ""),
        "'prompt' is missing; write prompt = \"...\" above the",
    ),
    (HEAD + "max_rounds = 0\n", "max_rounds is 0, but the model needs at least 1 round"),
    (HEAD + "max_rounds = true\n", "'max_rounds' is a boolean, but must be an integer: max_rounds = 8"),
    (HEAD + "max_rounds = 2.0\n", "'max_rounds' is a float, but must be an integer: max_rounds = 8"),
    (HEAD + 'model = ""\n', "'model' is empty; write some text"),
    (HEAD + "system = []\n", "'system' is an array, but must be a string"),
    (
        HEAD + 'stands_for = "a/b#1"\n',
        "'stands_for' is a string, but must be an array: stands_for = [",
    ),
    (HEAD + "stands_for = [1]\n", "'stands_for' holds 1, but must hold strings that are not empty"),
    (
        HEAD + 'stands_for = ["#12"]\n',
        "'stands_for' holds '#12'; name a public issue as \"owner/repos",
    ),
    (HEAD + 'workspace = "a"\n', "'workspace' is a string, but must be a table: [workspace]"),
]


@pytest.mark.parametrize(("head", "told"), TOP_CASES)
def test_a_wrong_key_of_the_file_is_refused_with_the_mend(tmp_path: Path, head: str, told: str) -> None:
    """Unknown, missing and mistyped keys are named, with how to write them."""
    assert refusal(tmp_path, head + REPLY + EXPECT).startswith(f": {told}")


WORKSPACE_CASES = [
    ('"/etc/x" = "a"', "'/etc/x' leaves the workspace; name a file inside it, such as \"docs/a.txt\""),
    ('"../x" = "a"', "'../x' leaves the workspace"),
    ('"a/../../x" = "a"', "'a/../../x' leaves the workspace"),
    ('"" = "a"', "'' is not a plain file name; write it such as \"docs/a.txt\""),
    ('"a//b" = "a"', "'a//b' is not a plain file name"),
    ('"./a" = "a"', "'./a' is not a plain file name"),
    ('"a/" = "a"', "'a/' is not a plain file name"),
    ('"a\\\\b" = "a"', "'a\\\\b' is not a plain file name"),
    ('"C:x" = "a"', "'C:x' is not a plain file name"),
    ('"a\\u0000b" = "a"', "'a\\x00b' is not a plain file name"),
    ('"a" = "x"\n"a/b" = "y"', "'a' is a file, and 'a/b' needs it to be a folder; rename one"),
    ('"a" = 5', "'a' must be the file's text, or { text = \"...\", times = 100 }"),
    ('"a" = { text = "x" }', "'a': 'times' is missing; write times = 8"),
    ('"a" = { text = "x", time = 5 }', "'a': 'time' is not a key here; did you mean 'times'?"),
    (
        '"a" = { text = "x", times = 0 }',
        "'a': times is 0; it must be at least 1 and give at most 4194304",
    ),
    (
        '"a" = { text = "x", times = 9999999999999 }',
        "'a': times is 9999999999999; it must be at least 1",
    ),
]


@pytest.mark.parametrize(("lines", "told"), WORKSPACE_CASES)
def test_a_wrong_workspace_is_refused_with_the_mend(tmp_path: Path, lines: str, told: str) -> None:
    """Every file stays inside the workspace, has one plain name, and is of a bearable size."""
    text = f"{HEAD}[workspace]\n{lines}\n{REPLY}{EXPECT}"
    assert refusal(tmp_path, text).startswith(f": workspace: {told}")


REPLY_CASES = [
    ("tool_cals = []", "'tool_cals' is not a key here; did you mean 'tool_calls'?"),
    ('content = "a"\nsystem = "b"', "'system' is not a key here; it is a key of the file, so write it above"),
    ("", "says nothing; give it content or tool_calls, message, status, or close = true"),
    (
        'finish_reason = "stop"',
        "says nothing; give it content or tool_calls, message, status, or close = true",
    ),
    ("content = 5", "'content' is an integer, but must be a string: content = \"...\""),
    ("message = '{}'\ncontent = \"a\"", "'message' does not go with 'content'; a reply has one form"),
    ("tool_calls = []\nstatus = 500", "'status' does not go with 'tool_calls'; a reply has one form"),
    ("message = '{}'\nstatus = 500", "'status' does not go with 'message'; a reply has one form"),
    (
        'status = 500\nfinish_reason = "stop"',
        "'finish_reason' does not go with 'status'; a reply has one",
    ),
    (
        'close = true\nbody = "a"',
        "'body' does not go with 'close'; a reply has one form: keep one of",
    ),
    ('content = "a"\nheaders = {}', "'headers' does not go with 'content'"),
    ("close = false", "close is false; leave it out, or write close = true"),
    ('close = "yes"', "'close' is a string, but must be a boolean: close = true"),
    ("tool_calls = {}", "'tool_calls' must be a list of tables: tool_calls = [{ ... }]"),
    ("tool_calls = [1]", "'tool_calls' must be a list of tables: tool_calls = [{ ... }]"),
    ('tool_calls = [{ id = "a", arguments = "" }]', "tool call 1: 'name' is missing; write name = \"...\""),
    (
        f'tool_calls = [{CALL}, {{ name = "a" }}]',
        "tool call 2: 'arguments' is missing; write arguments",
    ),
    (
        'tool_calls = [{ name = "a", arguments = { x = 1 } }]',
        "tool call 1: 'arguments' is a table, but must be the exact string that the model wrote: '{...}'",
    ),
    (
        'tool_calls = [{ id = 1, name = "a", arguments = "" }]',
        "tool call 1: 'id' is an integer, but must be",
    ),
    (
        'tool_calls = [{ kind = "x", name = "a", arguments = "" }]',
        "tool call 1: 'kind' is not a key here; for any other key or type, write the reply as 'message'",
    ),
    ("message = '{\"a\":1,}'", "'message' is not JSON: "),
    (
        "message = '{\"a\" 1}'",
        "'message' is not JSON: Expecting ':' delimiter: line 1 column 6 (char 5)",
    ),
    (
        "message = '{\"a\":NaN}'",
        "'message' is not JSON: NaN is no number of JSON; for other text use status",
    ),
    ("message = ''", "'message' is not JSON: Expecting value: line 1 column 1 (char 0)"),
    ("message = '[1]'", "'message' is not a JSON object; for any other value use status and body"),
    ("message = 'null'", "'message' is not a JSON object; for any other value use status and body"),
    ("message = '" + "[" * 100_000 + "'", "'message' is nested too deeply to be read"),
    ('content = "a"\nusage = 5', "'usage' is an integer, but must be a table: usage = { ... }"),
    ('content = "a"\nusage = { a = "b" }', "'usage' must hold integers: usage = { prompt_tokens = 10, "),
    ('content = "a"\nusage = { a = { b = 1.5 } }', "'usage' must hold integers: "),
    ('content = "a"\nfinish_reason = false', "'finish_reason' is a boolean, but must be a string"),
    ('status = "500"', "'status' is a string, but must be an integer"),
    ("status = 99", "status is 99; a final HTTP status is a number from 200 to 599"),
    ("status = 600", "status is 600; a final HTTP status is a number from 200 to 599"),
    ("status = 204\nbody = 'a'", "status 204 has no body; leave 'body' out"),
    ("status = 500\nbody = 5", "'body' is an integer, but must be a string"),
    ("status = 500\nheaders = []", "'headers' is an array, but must be a table"),
    ('status = 500\nheaders = { "a b" = "c" }', "headers: 'a b' is not the name of a header field"),
    ("status = 500\nheaders = { a = 1 }", "headers: 'a' must be a string of printable ASCII: a = \"...\""),
    ('status = 500\nheaders = { a = "b\\r\\nX: c" }', "headers: 'a' must be a string of printable ASCII"),
    ('status = 500\nheaders = { a = "é" }', "headers: 'a' must be a string of printable ASCII"),
    (
        'status = 500\nheaders = { content-LENGTH = "1" }',
        "headers: 'content-LENGTH' is the server's to send",
    ),
]


@pytest.mark.parametrize(("lines", "told"), REPLY_CASES)
def test_a_wrong_reply_is_refused_with_its_number_and_the_mend(tmp_path: Path, lines: str, told: str) -> None:
    """The error counts the replies from 1 and names the key."""
    text = f"{HEAD}{REPLY}[[reply]]\n{lines}\n{EXPECT}"
    assert refusal(tmp_path, text).startswith(f": reply 2: {told}")


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        ("", 'there is no reply; add [[reply]] with content = "..."'),
        ("reply = []\n", 'there is no reply; add [[reply]] with content = "..."'),
        ('[reply]\ncontent = "a"\n', "'reply' must be a list of tables: [[reply]]"),
        ("reply = [1]\n", "'reply' must be a list of tables: [[reply]]"),
    ],
)
def test_a_file_without_replies_is_refused(tmp_path: Path, replies: str, told: str) -> None:
    """A scenario needs the model to say something."""
    assert f": {told}" == refusal(tmp_path, HEAD + replies + EXPECT)


EXPECT_CASES = [
    ("[expect]\nfindings = []\n", ": expect: 'stop' is missing; write stop = \"...\""),
    ('[expect]\nstop = "anwser"\n', ": expect: 'anwser' is not a stop reason; did you mean 'answer'?"),
    (
        '[expect]\nstop = "zzz"\n',
        ": expect: 'zzz' is not a stop reason; the words are answer, empty-answer",
    ),
    ("[expect]\nstop = 5\n", ": expect: 'stop' is an integer, but must be a string"),
    ('[expect]\nstop = "answer"\nfindings = "a"\n', ": expect: 'findings' is a string, but must be an array"),
    (
        '[expect]\nstop = "answer"\nfindings = [""]\n',
        ": expect: 'findings' holds '', but must hold strings",
    ),
    ('[expect]\nstop = "answer"\nfindings = [1]\n', ": expect: 'findings' holds 1, but must hold strings"),
    (
        '[expect]\nstop = "answer"\nfinding = []\n',
        ": expect: 'finding' is not a key here; did you mean",
    ),
    (
        '[expect]\nstop = "answer"\nlc = "crash"\n',
        ": expect: 'lc' is not a key here; the table of a lane is",
    ),
    ('[expect]\nstop = "answer"\n[expect.lc]\nfindings = []\n', ": expect.lc: 'stop' is missing"),
    (
        '[expect]\nstop = "answer"\n[expect.lc]\nstop = "crsh"\n',
        ": expect.lc: 'crsh' is not a stop reason;",
    ),
    (
        '[expect]\nstop = "answer"\n[expect.lc.sturdy]\nstop = "answer"\n',
        ": expect.lc: 'sturdy' is not a key here; a lane with a dot in its name is quoted: [expect.\"lc.sturdy\"]",
    ),
]


@pytest.mark.parametrize(("expect", "told"), EXPECT_CASES)
def test_a_wrong_expectation_is_refused_with_the_mend(tmp_path: Path, expect: str, told: str) -> None:
    """Stops come from the vocabulary, findings are strings, and every table has both its keys right."""
    assert refusal(tmp_path, HEAD + REPLY + expect).startswith(told)


def test_a_file_name_cannot_reach_the_terminal_raw(tmp_path: Path) -> None:
    """Control characters in a file's name are shown as escapes, and the error stays on one line."""
    path = write(tmp_path, "", "a\n\x1b[31m.toml")
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert f"{tmp_path}/a\\n\\x1b[31m.toml: the file is empty; it" in str(caught.value)


@pytest.mark.parametrize("name", ["a" * 256, f"docs/{'é' * 128}/a.txt"])
def test_a_file_name_that_no_file_system_takes_is_refused(tmp_path: Path, name: str) -> None:
    """In bytes, because that is what a file system counts."""
    told = refusal(tmp_path, HEAD + REPLY + EXPECT + f'[workspace]\n"{name}" = "x"\n')
    assert " is a name of 256 bytes; it may have 255" in told
