"""The map of call ids: each tool call of the model, how often it ran, and which messages answered it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.arguments import lossless
from compare.runner import Execution
from compare.turns import Turn
from compare.values import equal
from protocol import tool_calls


@dataclass
class Call:
    """One tool call as the model made it.

    `path` is where it stands in the conversation; `id` is what the model gave, `sent_id` what the lane gave back
    (None where the call did not come back). `repeated` says that a call before it in the turn has its id. `answers`
    are the tool messages with its id, with their index in the conversation.
    """

    round: int
    path: str
    id: Any
    name: Any
    arguments: Any
    repeated: bool = False
    sent_id: Any = None
    came_back: bool = False
    executions: list[Execution] = field(default_factory=list)
    answers: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    @property
    def has_own_id(self) -> bool:
        """Whether the model gave it an id by which its result can be told from others."""
        return usable(self.id) and not self.repeated

    @property
    def known_id(self) -> Any:
        """The id that its result must carry."""
        return self.sent_id if self.came_back else self.id


def calls_of(turn: Turn) -> list[Call]:
    """The tool calls of the model's reply in this turn, in order."""
    calls: list[Call] = []
    for number, call in enumerate(tool_calls(turn.reply or {})):
        entry = call if isinstance(call, dict) else {}
        function = function_of(entry)
        path = f"messages[{turn.end}].tool_calls[{number}]"
        call_id, arguments = entry.get("id"), function.get("arguments")
        repeated = call_id in [before.id for before in calls]
        calls.append(Call(turn.number, path, call_id, function.get("name"), arguments, repeated))
    return calls


def function_of(entry: dict[str, Any]) -> dict[str, Any]:
    """The function of a call; empty where there is none."""
    function = entry.get("function")
    return function if isinstance(function, dict) else {}


def usable(call_id: Any) -> bool:
    """Whether a tool message can carry this id."""
    return isinstance(call_id, str) and call_id != ""


def match_sent(calls: Sequence[Call], assistant: dict[str, Any] | None) -> list[int | None]:
    """Find each call in the assistant message that the lane sent back: by id, then by position among the rest.

    Enters the ids that were sent into the calls; returns for each call the index of its entry, or None.
    """
    entries = [entry if isinstance(entry, dict) else {} for entry in tool_calls(assistant or {})]
    free = list(range(len(entries)))
    found: list[int | None] = [None] * len(calls)
    for number, call in enumerate(calls):
        match = next((i for i in free if usable(call.id) and entries[i].get("id") == call.id), None)
        if match is not None:
            found[number] = match
            free.remove(match)
    for number, call in enumerate(calls):
        if found[number] is None and free:
            same_name = [i for i in free if function_of(entries[i]).get("name") == call.name]
            found[number] = (same_name or free)[0]
            free.remove(found[number])  # type: ignore[arg-type]  # just set
    for call, index in zip(calls, found, strict=True):
        if index is not None:
            call.came_back, call.sent_id = True, entries[index].get("id")
    return found


def match_answers(calls: Sequence[Call], messages: Iterable[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Give each tool message to the call whose id it carries; return those that answer none.

    Calls that share an id get one message each, in order; what is left over goes to the last of them.
    """
    orphans = []
    for index, message in messages:
        if not isinstance(message, dict) or message.get("role") != "tool":
            continue
        owners = [call for call in calls if call.known_id == message.get("tool_call_id")]
        if owners:
            owner = next((call for call in owners if not call.answers), owners[-1])
            owner.answers.append((index, message))
        else:
            orphans.append((index, message))
    return orphans


def match_executions(calls: Sequence[Call], executions: Sequence[Execution]) -> list[Execution]:
    """Give each use of a tool to the call that asked for it; return those that no call asked for.

    A use belongs to a call of its name: first to one whose arguments it had, each call once; then to any of the name
    without a use (a lane may have changed the arguments); what is left over, to one whose arguments it repeats.
    """
    left = list(executions)
    wanted = [(call, parsed(call.arguments)) for call in calls]
    for exact, once in ((True, True), (False, True), (True, False)):
        for call, arguments in wanted:
            for execution in list(left):
                if once and call.executions:
                    break
                if execution.name == call.name and (not exact or ran_with(execution, arguments)):
                    call.executions.append(execution)
                    left.remove(execution)
    return left


def ran_with(execution: Execution, arguments: Any) -> bool:
    """Whether a tool ran with these arguments: a default that was left out is as good as given."""
    return isinstance(arguments, dict) and equal(execution.defaults | arguments, execution.arguments)


def parsed(arguments: Any) -> Any:
    """The arguments of a call as a value; what cannot be read stays as it is, and none at all are an empty object."""
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, str):
        return arguments
    try:
        lossless(arguments)
        return json.loads(arguments, strict=False)
    except ValueError:
        return arguments
