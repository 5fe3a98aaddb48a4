"""A lane is found by its name, and one that cannot be had is one line that says what to mend."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from compare.lanes import LaneError, load_lane, load_lanes

GOOD = "def run(): return 'run'\ndef other(): return 'other'\nnot_a_function = 5\n"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a module into the current folder, which is a new one; what gets imported is forgotten behind the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def file(name: str, text: str = GOOD) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return file


def refusal(text: str) -> str:
    """What is said of a lane that cannot be had; it must be one line."""
    with pytest.raises(LaneError) as caught:
        load_lane(text)
    said = str(caught.value)
    assert 1 == len(said.splitlines())
    assert repr(text) in said or f"lane {text}: " in said
    return said


def test_the_lane_by_hand_is_found_by_its_name() -> None:
    """`raw` is `raw:run`, under the shorter name."""
    import raw

    assert [("raw", raw.run)] * 2 == [(lane.name, lane.run) for lane in (load_lane("raw"), load_lane("raw:run"))]


def test_modules_of_the_current_folder_are_found(write: Write) -> None:
    """A module, a function of it, and a module in a package."""
    write("my_agent.py")
    write("my_package/__init__.py", "")
    write("my_package/agent.py")
    assert ["run", "other", "run"] == [
        str(load_lane(name).function()) for name in ("my_agent", "my_agent:other", "my_package.agent")
    ]
    assert "my_agent:other" == load_lane("my_agent:other").name


def test_the_current_folder_comes_last(write: Write) -> None:
    """A file that happens to be named as our own lane, or as a module of Python's, hides neither."""
    import raw

    write("raw.py", "raise SystemExit")
    write("wave.py", "raise SystemExit")
    assert load_lane("raw").run is raw.run
    assert refusal("wave") == (
        "lane wave: the module wave has no function run; define it, or name another as MODULE:FUNCTION"
    )


@pytest.mark.parametrize(
    "text", ["", " ", ":", ":run", "raw:", "raw:run:run", "raw run", "./raw", "a/b.py", "1raw", "raw:1", "raw\n", "-x"]
)
def test_what_is_no_name_is_refused(text: str) -> None:
    """The two forms that a name has are in the error."""
    assert refusal(text).endswith("is no lane: name one as MODULE or MODULE:FUNCTION, such as raw or agent:run")


@pytest.mark.parametrize(
    ("text", "missing"),
    [("no_such_agent", "no_such_agent"), ("no_such.agent:run", "no_such"), ("raw.no_such", "raw.no_such")],
)
def test_a_module_that_is_not_there_is_named(write: Write, text: str, missing: str) -> None:
    """The missing part of a dotted name is told from the whole."""
    assert f"lane {text}: there is no module {missing}; is it in this folder or installed?" == refusal(text)


@pytest.mark.parametrize("text", ["a..b", "agent."])
def test_an_odd_dotted_name_is_refused(write: Write, text: str) -> None:
    """However its dots stand."""
    write("agent.py")
    assert "there is no module" in refusal(text)


@pytest.mark.parametrize("text", ["my_agent:missing", "my_agent:not_a_function", "my_package"])
def test_a_function_that_is_not_there_is_named(write: Write, text: str) -> None:
    """Also where something of that name is there that cannot be called."""
    write("my_agent.py")
    write("my_package/__init__.py", "")
    module, _, function = text.partition(":")
    expected = f"lane {text}: the module {module} has no function {function or 'run'}; define it, or"
    assert refusal(text).startswith(expected)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_library", "No module named 'no_such_library'; install what it needs"),
        ("import broken.part", "No module named 'broken.part'; 'broken' is not a package; install what it needs"),
        ("from json import no_such", "ImportError: cannot import name 'no_such' from 'json'"),
        ("def run(:", "SyntaxError: invalid syntax (broken.py, line 1); mend the module"),
        ("1 / 0", "ZeroDivisionError: division by zero; mend the module"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines; mend the module"),
        ("raise SystemExit(3)", "SystemExit: 3; mend the module"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_from_a_missing_one(write: Write, source: str, said: str) -> None:
    """The error is the module's own, on one line; a script that exits does not take us with it."""
    write("broken.py", source)
    assert refusal("broken").startswith(f"lane broken: its import fails: {said}")


def test_lanes_come_in_the_order_of_the_list(write: Write) -> None:
    """Blanks and empty places between the commas are nothing."""
    write("my_agent.py")
    assert ["my_agent:other", "raw", "my_agent"] == [
        lane.name for lane in load_lanes(" my_agent:other, raw,,my_agent ,")
    ]


@pytest.mark.parametrize("text", ["", " ", ",", " , ,"])
def test_an_empty_list_is_refused(text: str) -> None:
    """There is nothing to compare."""
    with pytest.raises(LaneError, match=r"^no lane is named: give at least one, such as --lanes raw,lc$"):
        load_lanes(text)


@pytest.mark.parametrize("text", ["raw,raw", "raw,raw:run", "raw:run,my_agent,raw"])
def test_a_lane_named_twice_is_refused(write: Write, text: str) -> None:
    """A report names its columns by the lanes, so each must be there once."""
    write("my_agent.py")
    with pytest.raises(LaneError, match=r"^a lane is named twice in '.*': name each once$"):
        load_lanes(text)
