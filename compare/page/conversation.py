"""A comparison as columns: what the model said, and beside it what each lane made of it, aligned by round."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from compare.page.fate import KEPT, Piece, fate, written
from compare.page.findings import ENDING, OPENING, Placed
from compare.page.markup import Markup, el, join
from compare.page.threads import answers_of, thread
from compare.page.words import chip, folded, pieces
from compare.terminal.cells import executions, why_absent
from compare.terminal.message import UNKNOWN, Item, Markers, message_items, result_items

Found = dict[str, list[Placed]]
"""What was found, by lane."""


LAST_WORD = el("p", {"class": "x"}, "the last word")
AS_GIVEN = el("p", {"class": "k"}, "sent what it was given")
LIKE = 60
"""Characters of a cell from which on another lane's that equals it only names it, where cells are joined."""


class Conversation:
    """The columns of one comparison. Where they are joined, lanes that did the same share one cell, for brevity."""

    def __init__(self, one: dict[str, Any], found: Found, joined: bool) -> None:
        self.one, self.found, self.joined = one, found, joined
        self.lanes: list[dict[str, Any]] = one["lanes"]
        self.markers = Markers(self.lanes)
        self.rounds = {row["round"] for row in one["rows"]}

    def lines(self) -> dict[str, Markup]:
        """All rounds, and how the lanes ended: each a line of a table, by its title."""
        lines = {}
        for number, group in groupby(self.one["rows"], key=lambda row: row["round"]):
            rows = list(group)
            lines[f"round {number}" if number else "opening"] = (
                self.round(number, rows) if number else self.opening(rows)
            )
        return {**lines, "end": self.ending()}

    def as_in(self, title: str, mode: str) -> Markup:
        """The line that stands for one that another mode has just so."""
        words = el("p", {"class": "x"}, f"as in {mode}")
        return el("tr", None, el("td", {"colspan": len(self.lanes) + 1}, el("h4", None, title), words))

    def opening(self, rows: list[dict[str, Any]]) -> Markup:
        """What the lanes sent first; nothing where they sent what they were given, and nothing was found in it."""
        given = [text for text in (self.one["system"], self.one["prompt"]) if text]
        cells = []
        for lane in self.lanes:
            sent = [cell["message"] for row in rows for cell in row["cells"] if cell["lane"] == lane["name"]]
            contents = [message.get("content") for message in sent if isinstance(message, dict)]
            plain = contents == given and len(sent) == len(given)
            told = Markup() if plain else join(*(el("p", None, items_line(message)) for message in sent if message))
            cells.append(join(told, *self.at(lane, OPENING)))
        return self.across("opening", Markup(), [cell or AS_GIVEN for cell in cells]) if any(cells) else Markup()

    def round(self, number: int, rows: list[dict[str, Any]]) -> Markup:
        """One round: the model's message, and each lane's cell."""
        own = next((row for row in rows if row["said"] is not None), None)
        said = self.said(number, own) if own else Markup()
        cells = [self.cell(lane, number, rows) for lane in self.lanes]
        if self.joined and len(cells) > 1 and not any(self.at(lane, number) for lane in self.lanes):
            bare = [self.cell(lane, number, rows, bare=True) for lane in self.lanes]
            if all(cell == bare[0] for cell in bare):
                cells = [join(bare[0], self.results(number, rows))] * len(cells)
        return self.across(f"round {number}", said, cells)

    def results(self, number: int, rows: list[dict[str, Any]]) -> Markup:
        """The results of all lanes, call by call; what several lanes told alike stands once, with their names."""
        lanes, told = {lane["name"]: lane for lane in self.lanes}, []
        for row in rows:
            alike: dict[Markup, list[str]] = {}
            for cell in row["cells"] if row["role"] == "tool" and row["said"] is None else []:
                lane = lanes[cell["lane"]]
                alike.setdefault(result(self.sign(lane, number, cell), cell, lane), []).append(lane["name"])
            for html, names in alike.items():
                told.append(html if len(alike) == 1 else join(html, el("small", None, f" {', '.join(names)}")))
        return join(*told)

    def said(self, number: int, row: dict[str, Any]) -> Markup:
        """What the model said in a round, with its finish reason and how a stream had to be read."""
        items = message_items(row["said"], self.markers.said(number), row["role"])
        reasons = [lane["stop"]["model"][number - 1] for lane in self.lanes if len(lane["stop"]["model"]) >= number]
        reason = reasons[0] if reasons else None
        ended = reason if isinstance(reason, str) else written(reason)
        read = f" · read with: {', '.join(row['deviations'])}" if row["deviations"] else ""
        return join(shown_items(items), el("p", None, ended, read))

    def cell(self, lane: dict[str, Any], number: int, rows: list[dict[str, Any]], bare: bool = False) -> Markup:
        """What one lane made of a round: the message as it went back, the threads, the results, what was found.

        A bare one is without results and without the lane's name.
        """
        own = [(row, cell) for row in rows for cell in row["cells"] if cell["lane"] == lane["name"]]
        head = [self.sent_back(row, cell, lane) for row, cell in own if row["said"] is not None]
        others = [(row, cell) for row, cell in own if row["said"] is None]
        tools = [(self.sign(lane, number, cell), cell) for row, cell in others if row["role"] == "tool"]
        calls = dict(zip(self.markers.said(number), self.markers.calls.get((lane["name"], number), []), strict=False))
        answers = answers_of(tools, calls, lane)
        drawn = thread(list(calls), answers, "all lanes" if bare else lane["name"])
        results = [result(sign, cell, lane) for sign, cell in tools if cell["state"] != "absent" or cell["call"]]
        results = [] if bare else results
        strays = [
            el("p", None, items_line(cell["message"]))
            for row, cell in others
            if row["role"] != "tool" and cell["state"] != "absent"
        ]
        return join(*head, drawn, *results, *strays, *self.at(lane, number))

    def sign(self, lane: dict[str, Any], number: int, cell: dict[str, Any]) -> str:
        """The mark of the call whose id a tool message carries."""
        sign = self.markers.of(lane["name"], number, cell["call"])
        if sign == UNKNOWN and isinstance(cell["message"], dict):
            return self.markers.answered(lane["name"], number, cell["message"].get("tool_call_id"))
        return sign

    def sent_back(self, row: dict[str, Any], cell: dict[str, Any], lane: dict[str, Any]) -> Markup:
        """How the model's message went back: in a word where it was kept, else piece by piece."""
        if cell["state"] == "absent":
            return el("p", {"class": "x"}, why_absent(row, lane))
        if cell["state"] == "kept":
            return el("p", {"class": "x"}, "the run ended here: nothing went back")
        if cell["state"] == "final":
            return LAST_WORD
        parts = fate(row["said"], cell["message"])
        allowed = f" ≈ {', '.join(cell['tolerances'])}" if cell["tolerances"] else ""
        if written(row["said"]) == written(cell["message"]):
            return el("p", {"class": "k"}, "sent back as said", allowed)
        if self.markers.sent(lane["name"], row["round"], cell["message"]) != self.markers.said(row["round"]):
            return join(el("p", {"class": "d"}, "sent back, other calls or another order", allowed), marked(parts))
        if all(part.kind == KEPT for part in parts):
            usual = self.joined and cell["tolerances"] == []
            return el("p", {"class": "k"}, "sent back as said" if usual else "sent back, keys reordered", allowed)
        how = "re-serialised" if self.only_respelled(lane, cell) else "changed"
        return join(el("p", {"class": "d"}, f"sent back {how}", allowed), marked(parts))

    def only_respelled(self, lane: dict[str, Any], cell: dict[str, Any]) -> bool:
        """Whether the judge found nothing in a message but other bytes of the same value."""
        path = f"messages[{cell['index']}]"
        return {it["class"] for it in lane["findings"] if it["path"].startswith(path)} == {"re-serialised"}

    def at(self, lane: dict[str, Any], number: int) -> list[Markup]:
        """What was found in a lane at a round; at the ending also what belongs to a round that came to nothing."""
        rounds = {number} if number != ENDING else {one.round for one in self.found[lane["name"]]} - self.rounds
        return [one.html for one in self.found[lane["name"]] if one.round in rounds]

    def ending(self) -> Markup:
        """How each lane ended: as observed, as the model's replies ended, as the lane says."""
        return self.across("end", Markup(), [self.stop(lane) for lane in self.lanes])

    def stop(self, lane: dict[str, Any]) -> Markup:
        """One lane's ending, and what was found there."""
        stop = lane["stop"]
        claim = Markup()
        if not lane["foreign"]:
            claimed = "claims nothing" if stop["claimed"] is None else f"claims {stop['claimed']}"
            same = stop["claimed"] == stop["observed"]
            claim = Markup(", as claimed") if same else join(" · ", el("b", None, claimed))
        more = [el("p", {"class": "x"}, words) for words in (lane["problem"], raised(lane)) if words]
        unexpected = [el("p", {"class": "fs"}, el("b", None, "not as expected"), f" {it}") for it in lane["surprises"]]
        return join(
            el("p", {"class": "o"}, el("b", None, stop["observed"]), claim), *more, *self.at(lane, ENDING), *unexpected
        )

    def across(self, title: str, said: Markup, cells: Sequence[Markup]) -> Markup:
        """One line of the grid: the script's column, then the lanes'; one wide cell where all are alike."""
        names = [lane["name"] for lane in self.lanes]
        if self.joined and len(set(cells)) == 1 and (cells[0] == LAST_WORD or not said):
            whole = {"colspan": len(cells) + 1}
            return el("tr", None, el("td", whole, el("h4", None, title), said, *(cells[:1] if not said else ())))
        script = el("td", None, el("h4", None, title), said)
        if len(cells) > 1 and all(cell == cells[0] for cell in cells) and (self.joined or "class=h>" not in cells[0]):
            return el("tr", None, script, el("td", {"colspan": len(cells)}, cells[0]))
        shown: dict[Markup, str] = {}
        for name, cell in zip(names, cells, strict=True):
            like = shown.get(cell) if self.joined and len(cell) > LIKE else None
            shown.setdefault(cell, name)
            own = el("p", {"class": "x"}, f"as in {like}") if like else cell
            script = join(script, el("td", {"data-l": name}, own))
        return el("tr", None, script)


def marked(parts: Sequence[Piece]) -> Markup:
    """A message with what was lost and added; nothing where all of it was kept."""
    return Markup() if all(part.kind == KEPT for part in parts) else el("pre", None, pieces(parts))


def raised(lane: dict[str, Any]) -> str:
    """What the lane raised, in words."""
    return f"raised {lane['raised']}" if lane["raised"] else ""


def result(sign: str, cell: dict[str, Any], lane: dict[str, Any]) -> Markup:
    """One tool message, or that there is none."""
    ran = executions(lane, cell["executed"])
    if cell["state"] == "absent":
        return el("p", None, chip(sign), f"{ran}no result")
    items = result_items(cell["message"], sign, ran, "tool")
    return shown_items(items)


def shown_items(items: Sequence[Item]) -> Markup:
    """The entries of a message, each behind the mark of its call."""
    lines = []
    for item in items:
        mark = chip(item.marker) if item.marker else Markup()
        lines.append(el("p", None, mark, folded(item.text)))
    return join(*lines)


def items_line(message: Any) -> Markup:
    """A message that is no reply of the model, in a line."""
    return folded(written(message))
