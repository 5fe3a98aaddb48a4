"""A live run in the terminal: what each lane cost, how far the lanes went together, and where one parted."""

from typing import Any

from rich.console import Console
from rich.text import Text

from compare.terminal.findings import two_values
from compare.terminal.layout import LANE_LABEL, Block, fold, hang, heading, indent, short, text
from compare.terminal.surprises import label_of


def live_block(console: Console, one: dict[str, Any], volatile: dict[str, Any]) -> Block:
    """How one prompt went live."""
    live = one["live"]
    block = heading(f"Live, against {live['endpoint']}")
    for lane in live["lanes"]:
        parts = [spent(lane, seconds_of(one, lane["name"], volatile)), *together(lane, live)]
        head = short(lane["name"], LANE_LABEL, "bold").append("  ")
        block += indent(hang(console, head, text("; ".join(parts)), console.width - 2), 2)
        for problem in lane["problems"]:
            said = text(f"request {problem['request']}: {problem['text']}", "yellow")
            block += indent(hang(console, Text("· "), said, console.width - 4), 4)
        block += indent(fork_lines(console, lane, console.width - 4), 4)
    if live["limit_reached"]:
        words = f"the limit of {count(live['max_requests'], 'request')} was reached; --max-requests sets another"
        block += indent(fold(console, text(words, "bold red"), console.width - 2), 2)
    if live["interrupted"]:
        block += indent([short("interrupted: the rest was not asked", console.width - 2, "bold red")], 2)
    for name, sentence in live["tolerances"].items():
        block += indent(hang(console, text(f"{name}  ", "bold"), text(sentence, "dim"), console.width - 2), 2)
    return block


def totals_block(console: Console, data: dict[str, Any]) -> Block:
    """What all prompts cost together, and where lanes parted, a line each; nothing where nothing was live."""
    lives = [one for one in data["comparisons"] if "live" in one]
    if not lives:
        return []
    block = heading("Live, all prompts together")
    for name in data["lanes"]:
        lanes = [lane for one in lives for lane in one["live"]["lanes"] if lane["name"] == name]
        seconds = sum(seconds_of(one, name, data["volatile"]) for one in lives)
        words = f"{spent(added(lanes), seconds)}; {count(sum(bool(lane['fork']) for lane in lanes), 'fork')}"
        block += indent(hang(console, short(name, LANE_LABEL, "bold").append("  "), text(words), console.width - 2), 2)
    for one in lives:
        for lane in one["live"]["lanes"]:
            if lane["fork"]:
                parts = text(f"{lane['name']} parts at request {lane['fork']['request']}: {where(lane['fork'])}")
                head = short(label_of(one), console.width // 3, "bold").append("  ")
                block += indent(hang(console, head, parts, console.width - 2), 2)
    return block


def added(lanes: list[dict[str, Any]]) -> dict[str, Any]:
    """The costs of one lane on several prompts together."""
    kinds = ("prompt", "completion", "untold")
    return {
        **{key: sum(lane[key] for lane in lanes) for key in ("requests", "shared")},
        "tokens": {kind: sum(lane["tokens"][kind] for lane in lanes) for kind in kinds},
    }


def spent(lane: dict[str, Any], seconds: float) -> str:
    """What a lane cost, in words."""
    tokens = lane["tokens"]
    known = f"{tokens['prompt']} + {tokens['completion']} tokens"
    untold = f" ({count(tokens['untold'], 'reply', 'replies')} told no count)" if tokens["untold"] else ""
    shared = f", {count(lane['shared'], 'reply', 'replies')} shared" if lane["shared"] else ""
    return f"{count(lane['requests'], 'request')}, {known}{untold}{shared}, {seconds:.1f} s"


def together(lane: dict[str, Any], live: dict[str, Any]) -> list[str]:
    """How far a lane went with the first one, in words; the first one has nothing to tell."""
    if lane is live["lanes"][0] or lane["fork"]:
        return []
    taken = f" ({', '.join(lane['tolerances'])})" if lane["tolerances"] else ""
    return [f"in lockstep to its end{taken}"] if lane["shared"] else []


def fork_lines(console: Console, lane: dict[str, Any], width: int) -> Block:
    """Where a lane parted, and whether it healed."""
    fork = lane["fork"]
    if not fork:
        return []
    block = hang(console, Text("≠ ", "bold red"), text(f"parts at request {fork['request']}: {fork['reason']}"), width)
    if fork["path"]:
        was, now = two_values(fork["expected"], fork["found"])
        line = text(f"{fork['path']}  {fork['class']}  ").append_text(text(was)).append(" → ", "bold")
        block += indent(fold(console, line.append_text(text(now)), width - 2), 2)
    healed = fork["healed"]
    words = "no later request means again what one of the first lane does"
    if healed:
        words = (
            f"healed: its request {healed['request']} means again what the first lane's request {healed['means']} does"
        )
    return block + indent(fold(console, text(words), width - 2), 2)


def where(fork: dict[str, Any]) -> str:
    """The place of a fork in a few words."""
    return f"{fork['class']} {fork['path']}" if fork["path"] else str(fork["reason"])


def seconds_of(one: dict[str, Any], lane: str, volatile: dict[str, Any]) -> float:
    """The seconds that a lane took for one prompt."""
    wanted = (one["name"], one["mode"], lane)
    runs = [run for run in volatile["runs"] if (run["comparison"], run["mode"], run["lane"]) == wanted]
    return float(sum(run["seconds"] for run in runs))


def count(number: int, one: str, several: str = "") -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else several or one + 's'}"
