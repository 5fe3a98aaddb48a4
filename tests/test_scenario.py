"""A scenario file is read as written, and found by its name, its file or its folder."""

import json
from pathlib import Path

import pytest

from compare.replies import ScriptedBody, ScriptedClose, ScriptedMessage
from compare.scenario import Expectation, Scenario, ScenarioError, find, load
from tests.scenarios import CALL, EXPECT, HEAD, REPLY, write


def read(folder: Path, text: str) -> Scenario:
    """The scenario that this text makes."""
    return load(write(folder, text))


def read_reply(folder: Path, reply: str) -> object:
    """The one reply of a scenario, given the lines below [[reply]]."""
    (scripted,) = read(folder, f"{HEAD}[[reply]]\n{reply}\n{EXPECT}").replies
    return scripted


def read_message(folder: Path, reply: str) -> ScriptedMessage:
    """The same, for a reply that is a message."""
    scripted = read_reply(folder, reply)
    assert isinstance(scripted, ScriptedMessage)
    return scripted


# --- what a good file gives ---


def test_a_small_file_gets_the_defaults(tmp_path: Path) -> None:
    """Title, teaches, prompt, one reply and a stop are enough."""
    expected = Scenario(
        name="x",
        path=tmp_path / "x.toml",
        title="A title",
        teaches="One sentence.",
        prompt="Say hello.",
        replies=(
            ScriptedMessage(
                '{"role":"assistant","content":"hi"}',
                "stop",
                {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            ),
        ),
        expect={"": Expectation("answer", ())},
        system=None,
        max_rounds=8,
        model="scripted-model",
        stands_for=(),
        workspace={},
    )
    assert expected == read(tmp_path, HEAD + REPLY + EXPECT)


def test_every_key_of_the_file_is_read(tmp_path: Path) -> None:
    """The optional keys reach the scenario as written."""
    optional = 'system = "Be terse."\nmax_rounds = 3\nmodel = "m"\nstands_for = ["a/b-c.d#12"]\n'
    workspace = '[workspace]\n"a.txt" = "a"\n"docs/b.txt" = { text = "xy", times = 3 }\n".env" = ""\n'
    scenario = read(tmp_path, HEAD + optional + workspace + REPLY + EXPECT)
    assert (
        scenario.system,
        scenario.max_rounds,
        scenario.model,
        scenario.stands_for,
    ) == ("Be terse.", 3, "m", ("a/b-c.d#12",))
    assert scenario.workspace == {"a.txt": "a", "docs/b.txt": "xyxyxy", ".env": ""}


def test_a_file_with_windows_line_ends_and_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """What an editor on Windows saves is the same scenario."""
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbf" + (HEAD + REPLY + EXPECT).replace("\n", "\r\n").encode())
    assert load(path).prompt == "Say hello."


def test_a_lane_overrides_the_default_as_a_whole(tmp_path: Path) -> None:
    """A lane's own table replaces both keys, so findings of the default do not leak into it."""
    expect = (
        '[expect]\nstop = "answer"\nfindings = ["lost-field messages[1].x"]\n'
        '[expect.lc]\nstop = "crash"\n'
        '[expect."lc.sturdy"]\nstop = "answer"\nfindings = ["reordered a", "reordered b"]\n'
    )
    scenario = read(tmp_path, HEAD + REPLY + expect)
    assert Expectation("answer", ("lost-field messages[1].x",)) == scenario.expected("raw")
    assert Expectation("crash", ()) == scenario.expected("lc")
    assert Expectation("answer", ("reordered a", "reordered b")) == scenario.expected("lc.sturdy")


CALL_JSON = '{"id":"c1","type":"function","function":{"name":"calculator","arguments":"{\\"expression\\":\\"1+1\\"}"}}'


@pytest.mark.parametrize(
    ("reply", "message", "finish_reason"),
    [
        ('content = "七"', '{"role":"assistant","content":"七"}', "stop"),
        ('content = ""', '{"role":"assistant","content":""}', "stop"),
        (
            f"tool_calls = [{CALL}]",
            f'{{"role":"assistant","content":null,"tool_calls":[{CALL_JSON}]}}',
            "tool_calls",
        ),
        (
            f'content = "a"\ntool_calls = [{CALL}, {CALL}]',
            f'{{"role":"assistant","content":"a","tool_calls":[{CALL_JSON},{CALL_JSON}]}}',
            "tool_calls",
        ),
        ('content = "a"\ntool_calls = []', '{"role":"assistant","content":"a","tool_calls":[]}', "stop"),
        (f'tool_calls = [{CALL}]\nfinish_reason = "length"', None, "length"),
        ('content = "a"\nfinish_reason = ""', None, ""),
        ("message = '''{ \"a\":1, \"a\":1.10 }'''", '{ "a":1, "a":1.10 }', "stop"),
        ("message = '{\"tool_calls\":[{}]}'", '{"tool_calls":[{}]}', "tool_calls"),
        ("message = '{\"tool_calls\":[]}'", '{"tool_calls":[]}', "stop"),
        ('message = \'{"content":"\\ud83d"}\'\nfinish_reason = "x"', '{"content":"\\ud83d"}', "x"),
    ],
)
def test_a_message_is_written_by_parts_or_exactly(
    tmp_path: Path, reply: str, message: str | None, finish_reason: str
) -> None:
    """Parts are put together as OpenAI writes them, and an exact text is kept to the byte."""
    scripted = read_message(tmp_path, reply)
    assert (message or scripted.message, finish_reason) == (scripted.message, scripted.finish_reason)


def test_an_id_that_is_left_out_is_missing_from_the_message(tmp_path: Path) -> None:
    """Left out means no key, which is not the same as an id of null."""
    scripted = read_message(tmp_path, 'tool_calls = [{ name = "n", arguments = "" }]')
    expected = [{"type": "function", "function": {"name": "n", "arguments": ""}}]
    assert expected == json.loads(scripted.message)["tool_calls"]


def test_usage_is_read_from_its_table(tmp_path: Path) -> None:
    """A usage of the file's own is kept, one level of details included."""
    usage = "usage = { prompt_tokens = 7, prompt_tokens_details = { cached_tokens = 3 } }"
    scripted = read_message(tmp_path, f'content = "a"\n{usage}')
    assert scripted.usage == {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("status = 500", ScriptedBody(500, (), "")),
        ("status = 502\nbody = '<html>'", ScriptedBody(502, (), "<html>")),
        (
            'status = 429\nheaders = { Retry-After = "1", X-A = "" }\nbody = \'{}\'',
            ScriptedBody(429, (("Retry-After", "1"), ("X-A", "")), "{}"),
        ),
        ("close = true", ScriptedClose()),
    ],
)
def test_a_reply_beyond_a_message_is_read(tmp_path: Path, reply: str, expected: object) -> None:
    """An HTTP reply given whole, and a connection that is closed, are forms of their own."""
    assert expected == read_reply(tmp_path, reply)


# --- how scenarios are found ---

NOTHING = "no scenario of the catalogue, and no file or folder"


def test_a_name_finds_one_scenario_of_the_catalogue() -> None:
    """The name is the file's, without folder and ending."""
    assert [scenario.name for scenario in find("endless-caller")] == ["endless-caller"]


def test_a_file_and_a_folder_find_what_they_hold(tmp_path: Path) -> None:
    """A folder gives every scenario at any depth, sorted by name; other files are left alone."""
    (tmp_path / "deep").mkdir()
    for name in ("b.toml", "deep/a.toml", "c.toml"):
        write(tmp_path, HEAD + REPLY + EXPECT, name)
    write(tmp_path, "no scenario", "notes.txt")
    assert [scenario.name for scenario in find(str(tmp_path))] == ["a", "b", "c"]
    assert [scenario.name for scenario in find(str(tmp_path / "deep" / "a.toml"))] == ["a"]


def test_a_name_of_the_catalogue_goes_before_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a name means does not depend on the current folder; ./NAME means the folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "endless-caller").mkdir()
    assert [scenario.name for scenario in find("endless-caller")] == ["endless-caller"]
    with pytest.raises(ScenarioError, match=r"^endless-caller: the folder holds no scenario"):
        find("./endless-caller")


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("endles-caller", f"endles-caller: {NOTHING}; did you mean 'endless-caller'?"),
        (
            "mine/id-mising.toml",
            f"mine/id-mising.toml: {NOTHING}; did you mean 'id-missing'?",
        ),
        ("qqq", f"qqq: {NOTHING}; 'diptych list' shows the names"),
        ("", f": {NOTHING}; 'diptych list' shows the names"),
        ("a\0b\n", f"a\\x00b\\n: {NOTHING}; "),
        ("x" * 5000, "x" * 5000 + f": {NOTHING}; "),
    ],
)
def test_an_unknown_argument_is_refused_with_the_nearest_names(argument: str, told: str) -> None:
    """A slip of the fingers is answered with what was probably meant."""
    with pytest.raises(ScenarioError) as caught:
        find(argument)
    assert str(caught.value).startswith(told)


def test_a_folder_without_scenarios_is_refused(tmp_path: Path) -> None:
    """Running nothing would look like success."""
    with pytest.raises(ScenarioError) as caught:
        find(str(tmp_path))
    assert f"{tmp_path}: the folder holds no scenario; a scenario is a .toml file" == str(caught.value)


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path) -> None:
    """A report names its rows by the scenario's name, so each must be there once."""
    (tmp_path / "deep").mkdir()
    write(tmp_path, HEAD + REPLY + EXPECT, "a.toml")
    write(tmp_path, HEAD + REPLY + EXPECT, "deep/a.toml")
    with pytest.raises(ScenarioError) as caught:
        find(str(tmp_path))
    both = f"{tmp_path}/a.toml and {tmp_path}/deep/a.toml"
    assert f"{tmp_path}: two scenarios are named 'a': {both}; rename one" == str(caught.value)


@pytest.mark.parametrize("expect", ["", "[expect]\n", '[expect.lc]\nstop = "crash"\n'])
def test_where_nothing_is_expected_an_answer_is(tmp_path: Path, expect: str) -> None:
    """A new file needs no table, and may speak of single lanes only."""
    scenario = read(tmp_path, HEAD + REPLY + expect)
    assert Expectation("answer") == scenario.expected("raw")
    assert Expectation("answer") == scenario.expected("raw", "stream")
    assert Expectation("crash" if "lc" in expect else "answer") == scenario.expected("lc")
