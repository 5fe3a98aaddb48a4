"""What the judge costs: keeping long conversations, comparing long histories, and the whole catalogue."""

import copy
import json
import time
import tracemalloc
from collections.abc import Iterable
from typing import Any

from compare.body import Bodies
from compare.comparison import compare_scenario
from compare.diff import diff
from compare.lanes import load_lanes
from compare.modes import MODES
from compare.scenario import catalogue, load

ROUNDS = 1000


def conversation(rounds: int) -> list[dict[str, Any]]:
    """A history of two messages a round."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(rounds):
        function = {"name": "calculator", "arguments": json.dumps({"expression": f"{number}+{number}"})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": str(2 * number)})
    return messages


def requests(messages_last: bool) -> list[bytes]:
    """The bodies of a long conversation, with the messages behind the tools (raw) or before them (lc)."""
    messages, tools = conversation(ROUNDS), [{"type": "function", "function": {"name": "calculator"}}] * 4
    encoded = [json.dumps(message, separators=(",", ":")) for message in messages]
    bodies = []
    for number in range(ROUNDS):
        joined = ",".join(encoded[: 1 + 2 * number])
        if messages_last:
            bodies.append(f'{{"model":"m","tools":{json.dumps(tools)},"messages":[{joined}]}}'.encode())
        else:
            bodies.append(f'{{"model":"m","messages":[{joined}],"tools":{json.dumps(tools)}}}'.encode())
    return bodies


def keeping() -> Iterable[str]:
    """CPU time and memory of keeping two lanes' requests."""
    lanes = [requests(True), requests(False)]
    times = []
    for _ in range(3):
        kept = [Bodies(), Bodies()]
        start = time.process_time()
        for pair in zip(*lanes, strict=True):
            for bodies, body in zip(kept, pair, strict=True):
                bodies.read(body)
        times.append(time.process_time() - start)
    tracemalloc.start()
    stored = [[bodies.read(body) for body in lane] for bodies, lane in zip([Bodies(), Bodies()], lanes, strict=True)]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    whole = all(one[-1].raw() == lane[-1] for one, lane in zip(stored, lanes, strict=True))
    yield (
        f"keeping {ROUNDS} pairs of requests: {min(times) / ROUNDS * 1e6:.0f} microseconds a pair, "
        f"{size / 2**20:.1f} MiB for both lanes, every byte there: {whole}"
    )


def comparing() -> Iterable[str]:
    """CPU time of comparing two histories, and whether exactly what was planted is found."""
    left = conversation(ROUNDS // 2)[:1000]
    right = copy.deepcopy(left)
    planted = {5, 99, 300, 621, 998}
    for index in planted:
        right[index]["planted"] = True
    times = []
    for _ in range(9):
        start = time.process_time()
        found = diff(left, right, "messages").differences
        times.append(time.process_time() - start)
    places = {int(one.path.split("[")[1].split("]")[0]) for one in found}
    exact = places == planted and len(found) == len(planted)
    yield f"comparing 1,000 messages: {min(times) * 1000:.2f} ms, exactly the planted differences: {exact}"


def whole_catalogue() -> Iterable[str]:
    """CPU seconds of all scenarios through both lanes, mode by mode; the imports count in the first."""
    start = time.process_time()
    lanes = load_lanes("raw,lc")
    scenarios = [load(path) for path in catalogue()]
    for mode in MODES:
        chosen = [scenario for scenario in scenarios if mode in scenario.modes]
        for scenario in chosen:
            compare_scenario(scenario, lanes, mode)
        now = time.process_time()
        yield f"the whole catalogue, {mode}: {len(chosen)} scenarios, both lanes, {now - start:.1f} CPU seconds"
        start = now
