"""What a long conversation costs to keep in a SQLite file: bytes of the file, and memory of the process."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.lanes import TOOL

SIZES = {"lc.sturdy": (100, 200, 400), "textbook": (100, 200)}
"""The rounds of the conversations, by graph: the textbook's grows too fast for more."""

STATUS = Path("/proc/self/status")
MIB = 2**20


Sizes = dict[str, int | None]
"""Bytes: `file`, `peak` of the process, and what it has `grown` for the conversation; None where it is not told."""


def apart(graph: str, rounds: int, base_url: str) -> Sizes:
    """As `here`, in a process of its own: memory that was given back is seldom given back to the system."""
    command = [sys.executable, "-m", "bench.storage", graph, str(rounds), base_url]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 # our own
    sizes: Sizes = json.loads(ran.stdout)
    return sizes


def here(graph: str, rounds: int, base_url: str) -> Sizes:
    """Hold a conversation of so many rounds, keep it, and see how large all is then."""
    with tempfile.TemporaryDirectory() as folder:
        keep(graph, 1, base_url, Path(folder, "first.db"))  # imports, caches
        start = memory("VmRSS")
        keep(graph, rounds, base_url, Path(folder, "kept.db"))
        peak = memory("VmHWM")
        size = sum(path.stat().st_size for path in Path(folder).glob("kept.db*"))
    return {"file": size, "peak": peak, "grown": None if peak is None or start is None else peak - start}


def table(
    base_url: str,
    sizes: Mapping[str, Sequence[int]] = SIZES,
    measure: Callable[[str, int, str], Sizes] = apart,
) -> Iterable[str]:
    """A line for each conversation; what is linear doubles with the rounds, what is quadratic is four times as much."""
    yield "kept in SQLite | rounds | file KiB | x | process MiB | of it for the run | x"
    for graph, rounds_of_it in sizes.items():
        before: Sizes = {}
        for rounds in rounds_of_it:
            now = measure(graph, rounds, base_url)
            yield (
                f"{graph:14} | {rounds:6} | {(now['file'] or 0) / 1024:8.0f} | {ratio(now, before, 'file')} | "
                f"{shown(now['peak'])} | {shown(now['grown'])} | {ratio(now, before, 'grown')}"
            )
            before = now


def shown(size: int | None) -> str:
    """A size in MiB; a dash where the system does not tell it."""
    return "-" if size is None else f"{size / MIB:.1f}"


def ratio(now: Sizes, before: Sizes, key: str) -> str:
    """How many times as much it is as in the conversation before; a dash where there is nothing to compare."""
    larger, smaller = now[key], before.get(key)
    return f"{larger / smaller:.2f}" if larger is not None and smaller else "-"


def memory(line: str) -> int | None:
    """Bytes of memory of this process: VmRSS now, VmHWM at most so far. None on a system that does not tell."""
    if not STATUS.exists():
        return None
    (found,) = [one for one in STATUS.read_text().splitlines() if one.startswith(f"{line}:")]
    return int(found.split()[1]) * 1024


def keep(graph: str, rounds: int, base_url: str, path: Path) -> None:
    """Hold one conversation of so many rounds, and keep it in a file."""
    from pydantic import SecretStr

    import lc.graph
    from lc.sturdy import build
    from lc.sturdy.limits import Limits
    from lc.sturdy.memory import sqlite
    from lc.sturdy.model import SturdyChatOpenAI

    llm = SturdyChatOpenAI(base_url=base_url, model=f"rounds-{rounds}", api_key=SecretStr("k"))
    asked: Any = {"messages": [("user", "go")]}
    with sqlite(path) as saver:
        compiled: Any = build(llm, [TOOL], limits=Limits(rounds=rounds + 1), checkpointer=saver)
        if graph == "textbook":
            # MessagesState and add_messages, with the same model and the same saver: only the state is another.
            compiled = lc.graph.build(llm, [TOOL])
            compiled.checkpointer = saver
        compiled.invoke(asked, {"configurable": {"thread_id": "t"}, "recursion_limit": 3 * rounds + 5})


if __name__ == "__main__":
    print(json.dumps(here(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
