"""The generated parts of README.md: `python -m tests.readme_parts` writes them anew, a test compares them."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from compare.findings import CLASSES, meaning
from compare.known import always_expected
from compare.modes import MODES, STREAM
from compare.profiles import rules_of
from compare.scenario import CATALOGUE_FOLDER, Scenario, catalogue, load
from compare.tolerances import legend
from protocol import DEVIATIONS, REPAIRS, STOP_REASONS
from protocol.profile import profile
from toolbox.console import exit_status

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PART = re.compile(r"(<!-- part: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def fence(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip().lstrip(chr(10))}\n```\n"


def table(*rows: tuple[str, ...]) -> str:
    """A table; the first row is its head."""
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    lines.insert(1, f"|{' --- |' * len(rows[0])}")
    return "\n".join(lines) + "\n"


def diptych(*arguments: str) -> str:
    """What the command prints when it is piped, at a width of 100 columns."""
    command = [sys.executable, "-m", "compare", *arguments]
    environment = {**os.environ, "COLUMNS": "100"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    if ran.returncode not in (0, 1):
        raise RuntimeError(ran.stderr)
    return ran.stdout


def compare_part() -> str:
    """How the main job begins and ends."""
    return excerpt(diptych("run", "--both", "--lanes", "raw,lc,lc.sturdy"))


def excerpt(output: str) -> str:
    """The first lines of the main job's output, and the last one."""
    lines = output.rstrip().splitlines()
    return fence("\n".join([*lines[:16], "...", lines[-1]]))


def one_part() -> str:
    """One scenario in full."""
    return fence(diptych("run", "reasoning-content-lost"))


def source(path: str, *functions: str) -> str:
    """Functions of a file, without their docstrings."""
    text = (ROOT / path).read_text(encoding="utf-8")
    parts = []
    for name in functions:
        found = re.search(rf"^def {name}\(.*?(?=^def |\Z)", text, re.DOTALL | re.MULTILINE)
        if found is None:
            raise LookupError(f"{path} has no function {name}")
        parts.append(re.sub(r'\n    """.*?"""', "", found[0], count=1, flags=re.DOTALL).strip())
    return "\n\n\n".join(parts)


def raw_part() -> str:
    """The body of the loop by hand."""
    return fence(body(source("src/raw/loop.py", "run")), "python")


def body(function: str) -> str:
    """What stands in a function, without its indentation."""
    return textwrap.dedent(function.split(":\n", 1)[1])


def lc_part() -> str:
    """The body of the graph's run, and the graph."""
    file = "src/lc/graph.py"
    return fence(f"{body(source(file, 'run'))}\n\n\n{source(file, 'build')}\n\n\n{source(file, 'follow')}", "python")


def repairs_part() -> str:
    """What the loop by hand does not send back as it came."""
    return "".join(f"- {sentence}\n" for sentence in REPAIRS.values())


def difference(scenario: Scenario) -> tuple[str, ...] | None:
    """The row of a scenario in which the graph does something else than the loop by hand, in any mode."""
    told = {mode: told_of(scenario, mode) for mode in scenario.modes}
    if not any(told.values()):
        return None
    raw = dict.fromkeys(scenario.expected("raw", mode).stop for mode in scenario.modes)
    plain, stream = (told.get(mode, "–") or "as by hand" for mode in MODES)
    return f"`{scenario.name}`: {scenario.teaches}", ", ".join(raw), plain, "the same" if stream == plain else stream


def told_of(scenario: Scenario, mode: str) -> str:
    """What LangGraph does otherwise in one mode: how it ends, and the classes of what is found; else nothing."""
    raw, lc = scenario.expected("raw", mode), scenario.expected("lc", mode)
    keys = [key for key in lc.findings if key not in (*raw.findings, *always_expected("lc", mode == STREAM))]
    kinds = dict.fromkeys(key.split()[0] for key in keys if key.split()[0] != "unused-reply")
    return "" if lc.stop == raw.stop and not kinds else f"{lc.stop}: {', '.join(kinds)}".removesuffix(": ")


def differences_part() -> str:
    """All scenarios in which the lanes part."""
    rows = [difference(load(path)) for path in catalogue()]
    head = ("scenario", "by hand", "LangGraph", "LangGraph, streamed")
    return table(head, *[row for row in rows if row is not None])


def tolerances_part() -> str:
    """The tolerances."""
    return table(("tolerance", "what it forgives"), *[(f"`{name}`", text) for name, text in legend().items()])


def findings_part() -> str:
    """The classes of findings."""
    rows = [(f"`{kind}`", severity, meaning(kind)) for kind, (severity, _) in CLASSES.items()]
    return table(("class", "severity", "what it leads to"), *rows)


def stops_part() -> str:
    """The stop reasons with their exit statuses."""
    rows = [(f"`{stop}`", str(exit_status(stop)), text) for stop, text in STOP_REASONS.items()]
    return table(("stop reason", "status", "meaning"), *rows)


def rules_part() -> str:
    """The provider's rules."""
    rules = rules_of(profile("openai"))
    rows = [(f"`{rule.name}`", rule.demands, str(rule.status), rule.source) for rule in rules]
    return table(("rule", "what it demands", "answer", "source"), *rows)


def drill_part() -> str:
    """The drill at the borders of chunks."""
    return fence(diptych("drill", "--by", "chunk"))


def deviations_part() -> str:
    """The rules for streams that are nearly right."""
    return table(("deviation", "what is done"), *[(f"`{name}`", text) for name, text in DEVIATIONS.items()])


LANE = '''
"""A lane with one mistake: it answers only the first call of a turn."""

import httpx

from toolbox import execute


def run(prompt, tools, *, base_url, model, api_key, system=None, max_rounds=8, timeout=60.0):
    by_name = {tool.name: tool for tool in tools}
    schemas = [tool.schema() for tool in tools]
    messages = [{"role": "user", "content": prompt}]
    for _ in range(max_rounds):
        request = {"model": model, "messages": messages, "tools": schemas}
        reply = httpx.post(f"{base_url}/chat/completions", json=request, timeout=timeout).json()
        if "error" in reply:
            return messages, "http-error"
        message = reply["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return messages, "answer"
        for call in message["tool_calls"][:1]:
            observation = execute(by_name, call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": observation})
    return messages, "round-limit"
'''


def lane_part() -> str:
    """A lane of one's own, with a mistake that Diptych names."""
    return fence(LANE, "python")


def scenario_part() -> str:
    """A scenario file."""
    return fence((CATALOGUE_FOLDER / "reasoning-content-lost.toml").read_text(encoding="utf-8"), "toml")


PARTS: dict[str, Callable[[], str]] = {
    name.removesuffix("_part"): make for name, make in globals().items() if name.endswith("_part")
}


def renewed(text: str) -> str:
    """The README with all its parts made anew."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[4], text)


if __name__ == "__main__":
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
