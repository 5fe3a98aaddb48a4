"""The prompts of a live run: those of a text file, of a JSON Lines file, or of scenarios, whose replies then wait."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from compare.comparison import task_of
from compare.runner import Task
from compare.scenario import Scenario, find, load
from compare.toml_table import ScenarioError, scenario_error

KEYS = ("prompt", "system", "name")
"""The keys of a line of a JSON Lines file."""


@dataclass(frozen=True)
class Prompt:
    """One prompt by name, with what the report says of it and the task that it is."""

    name: str
    title: str
    teaches: str
    task: Task


def read_prompts(arguments: Sequence[str], task: Task) -> list[Prompt]:
    """The prompts that the words of a command line name, in order; `task` is what they have in common.

    A word is a `.txt` file with one prompt a line, a `.jsonl` file with one object a line (`prompt`, and as you like
    `system` and `name`), or what `diptych run` knows as scenarios; a scenario file needs no reply here.
    Raises ScenarioError, and OSError.
    """
    found: dict[str, Prompt] = {}
    for argument in arguments:
        for prompt in of_word(argument, task):
            if prompt.name in found:
                raise scenario_error(argument, f"two prompts are named {prompt.name!r}; give one another name")
            found[prompt.name] = prompt
    return list(found.values())


def of_word(argument: str, task: Task) -> list[Prompt]:
    """The prompts of one word. Raises as `read_prompts`."""
    path = Path(argument)
    if path.suffix == ".txt":
        lines = numbered(path)
        prompts = [prompt_of(f"{path.stem}-{number}", line.strip(), task) for number, line in lines]
    elif path.suffix == ".jsonl":
        prompts = [of_object(path, number, line, task) for number, line in numbered(path)]
    else:
        chosen = [load(path, scripted=False)] if path.is_file() else find(argument)
        return [of_scenario(scenario, task) for scenario in chosen]
    if not prompts:
        raise scenario_error(path, "the file holds no prompt; write one a line")
    return prompts


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers. Raises ScenarioError and OSError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise scenario_error(path, f"byte {error.start + 1} is not UTF-8; save the file as UTF-8") from error
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def prompt_of(name: str, text: str, task: Task) -> Prompt:
    """A prompt that is nothing more than its text."""
    return Prompt(name, text, "", replace(task, prompt=text))


def of_object(path: Path, number: int, line: str, task: Task) -> Prompt:
    """The prompt in one line of a JSON Lines file. Raises ScenarioError."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise wrong(path, number, f'no JSON: {error}; write {{"prompt": "..."}}') from error
    if not isinstance(value, dict):
        raise wrong(path, number, 'no object; write {"prompt": "..."}')
    if strange := [key for key in value if key not in KEYS]:
        raise wrong(path, number, f"{strange[0]!r} is not a key here; the keys are {', '.join(KEYS)}")
    for key in KEYS:
        if (key == "prompt" or key in value) and not told(value.get(key)):
            raise wrong(path, number, f'{key!r} must be a text that is not empty; write "{key}": "..."')
    prompt = prompt_of(value.get("name", f"{path.stem}-{number}"), value["prompt"], task)
    return replace(prompt, task=replace(prompt.task, system=value.get("system", task.system)))


def told(value: Any) -> bool:
    """Whether it is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def wrong(path: Path, number: int, text: str) -> ScenarioError:
    """The error that says what is wrong with a line."""
    return scenario_error(f"{path}: line {number}", text)


def of_scenario(scenario: Scenario, task: Task) -> Prompt:
    """The prompt of a scenario, with its workspace; the model that is asked is another, and so is its time."""
    given = replace(task_of(scenario, "plain"), model=task.model, timeout=task.timeout, stream=task.stream)
    return Prompt(scenario.name, scenario.title, scenario.teaches, given)
