"""The prompts of a live run: text files, JSON Lines files, scenarios."""

from pathlib import Path

import pytest

from compare.live.prompts import read_prompts
from compare.runner import Task
from compare.scenario import ScenarioError

TASK = Task("", "m", timeout=7.0)
UNSCRIPTED = 'title = "T"\nteaches = "t"\nprompt = "p"\nmax_rounds = 3\n[workspace]\n"a.txt" = "x"\n'


def test_a_text_file_has_a_prompt_a_line(tmp_path: Path) -> None:
    """Named by the file and the line; blank lines are none."""
    (tmp_path / "mine.txt").write_text("\ufeffone \n\n 二\r\n", encoding="utf-8")
    found = read_prompts([str(tmp_path / "mine.txt")], TASK)
    assert [("mine-1", "one"), ("mine-3", "二")] == [(one.name, one.task.prompt) for one in found]


def test_a_json_lines_file_has_an_object_a_line(tmp_path: Path) -> None:
    """With a name and a system text where they are wanted."""
    lines = '{"prompt": "one\\u2028two"}\n{"prompt": "p", "name": "n", "system": "s"}\n'
    (tmp_path / "mine.jsonl").write_text(lines, encoding="utf-8")
    found = read_prompts([str(tmp_path / "mine.jsonl")], TASK)
    expected = [("mine-1", "one\u2028two", None), ("n", "p", "s")]
    assert expected == [(one.name, one.task.prompt, one.task.system) for one in found]


def test_a_scenario_gives_its_prompt_and_workspace(tmp_path: Path) -> None:
    """It needs no reply, because a live model answers; its model and time are the live run's."""
    (tmp_path / "mine.toml").write_text(UNSCRIPTED, encoding="utf-8")
    task = read_prompts([str(tmp_path / "mine.toml")], TASK)[0].task
    assert ("p", 3, {"a.txt": "x"}) == (task.prompt, task.max_rounds, task.workspace)
    assert ("m", 7.0) == (task.model, task.timeout)
    assert ["one-call"] == [one.name for one in read_prompts(["one-call"], TASK)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "\n", "the file holds no prompt; write one a line"),
        ("a.jsonl", "", "the file holds no prompt"),
        ("a.jsonl", '{"prompt": "a"}\n\nhi', "line 3: no JSON"),
        ("a.jsonl", "[" * 100000, "line 1: no JSON"),
        ("a.jsonl", '"hi"', 'line 1: no object; write {"prompt": "..."}'),
        ("a.jsonl", "{}", "'prompt' must be a text that is not empty"),
        ("a.jsonl", '{"prompt": "a", "name": 3}', "'name' must be a text"),
        ("a.jsonl", '{"prompt": "a", "tools": []}', "'tools' is not a key here; the keys are prompt, system, name"),
        ("a.jsonl", '{"prompt": "a", "name": "x"}\n{"prompt": "b", "name": "x"}', "two prompts are named 'x'"),
        ("a.toml", 'prompt = "p"', "'title' is missing"),
        ("a.md", "hi", "a.md"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_a_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    """With the file, the line, and the mend."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read_prompts([str(tmp_path / name)], TASK)
    assert said in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """With the place."""
    (tmp_path / "a.txt").write_bytes(b"ab\xff")
    with pytest.raises(ScenarioError, match="byte 3 is not UTF-8"):
        read_prompts([str(tmp_path / "a.txt")], TASK)
