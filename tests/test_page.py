"""The page that a report is shown on: it works from disk, at any width, without JavaScript, by keyboard."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

from compare.cli_page import read_report
from compare.page import document, render
from compare.page.light import lit
from tests.browser import Opened, Pages, needs_chromium
from tests.faults import FAULTS
from tests.page_reports import of_catalogue, of_fault, packed

LIMIT = 400_000
BASH = shutil.which("bash") or "/bin/bash"


def colours() -> list[dict[str, str]]:
    """The variables of the style sheet that are colours, light and dark."""
    roots = re.findall(r":root\{([^}]*)\}", document.asset("style.css"))
    found = [dict(re.findall(r"--([a-z0-9]+):(#[0-9a-f]{3,6})\b", root)) for root in roots]
    return [found[0], found[0] | found[1]]


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_colour_of_text_can_be_read(theme: int) -> None:
    """AA: 4.5 to 1, on every ground that a text stands on."""
    it = colours()[theme]
    texts = ["ink", "soft", "link", "s", "n", "i", "ok", *(f"c{number}" for number in range(7))]
    pairs = [(text, ground) for text in texts for ground in ("bg", "panel", "mark")] + [("ink", "del"), ("ink", "ins")]
    assert [] == [(*pair, round(ratio, 2)) for pair in pairs if (ratio := contrast(it[pair[0]], it[pair[1]])) < 4.5]


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    """In another process with another hash seed, too; and by the command as by the function."""
    data = of_catalogue()
    (tmp_path / "report.json").write_text(json.dumps(data), encoding="utf-8")
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "compare", "report", "report.json", "--html", f"{seed}.html"]
        env = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        subprocess.run(command, cwd=tmp_path, env=env, check=True)
        assert render(data).encode() == (tmp_path / f"{seed}.html").read_bytes()


def test_a_run_writes_the_page_that_its_report_gives(tmp_path: Path) -> None:
    """--html beside --json."""
    command = [sys.executable, "-m", "compare", "one-call", "--lanes", "raw", "--json", "a.json", "--html", "a.html"]
    env = {"PYTHONPATH": ":".join(sys.path)}
    subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
    assert render(json.loads((tmp_path / "a.json").read_text("utf-8"))) == (tmp_path / "a.html").read_text("utf-8")


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    """What is no JSON, what has not its form, what cannot be drawn, and what contradicts itself."""
    other = of_catalogue("one-call")
    other["lanes"] = ["lc", "raw"]
    for text in ("{", "[]", '{"format": "diptych-report"}', '{"version": NaN}', "[1e999]", json.dumps(other)):
        (tmp_path / "no.json").write_text(text, encoding="utf-8")
        with pytest.raises(click.UsageError, match=r"no\.json: "):
            read_report(tmp_path / "no.json")


def test_the_whole_catalogue_fits_into_the_limit(whole_report: dict[str, Any]) -> None:
    """Three lanes, every mode; with every finding in it, and the wire of the gravest."""
    page = render(whole_report)
    assert len(page.encode()) <= LIMIT
    assert len(re.findall(r"<section id=\d+>", page)) == len({one["name"] for one in whole_report["comparisons"]})
    held = re.search(r"Of (\d+) conversations, (\d+) have", page)
    assert held is None or int(held[2]) > 0.4 * int(held[1])


def test_a_huge_text_is_folded() -> None:
    """A megabyte in a message takes a line of the conversation; the raw view alone has all of it."""
    data = of_catalogue("one-call")
    for row in data["comparisons"][0]["rows"]:
        for cell in row["cells"]:
            if row["role"] == "tool":
                cell["message"]["content"] = "x" * 1_000_000
    page = render(data)
    assert len(page) < 60_000
    assert "1000002 characters" in page or "1000000 characters" in page


def test_what_changed_on_the_way_is_marked() -> None:
    """Struck out what was lost, underlined what was added, letter by letter in arguments."""
    page = render(of_fault("reserialises_arguments"))
    assert re.search(r"<ins>[^<]* ?</ins>|<del> </del>", page)
    assert '<del>, "reasoning_content": "The user wants a product, so I use the calculator."</del>' in render(
        of_catalogue("reasoning-content-lost")
    )


def test_a_finding_says_what_a_provider_would_answer() -> None:
    """At the round where its message stands, with the consequence in a sentence."""
    page = render(of_catalogue("reasoning-content-lost"))
    place = page.index("<b>deepseek-thinking</b> would answer 400: reasoning-comes-back")
    assert page.rindex("<h4>", 0, place) == page.rindex("<h4>round 1</h4>", 0, place)
    assert "<i>what the model sent does not come back to it</i>" in page


@pytest.mark.parametrize("fault", [*FAULTS])
def test_no_finding_gets_lost(fault: str) -> None:
    """Each stands in its lane, also where the run came to nothing or the place is no message."""
    data = of_fault(fault)
    page = render(data)
    for lane in data["comparisons"][0]["lanes"]:
        for one in lane["findings"]:
            assert f"<b>{one['class']}</b>" in page
        for name in lane["refused_by"]:
            assert f"<b>{name}</b> would answer" in page


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("place", ["", "#1", "#4"])
def test_no_width_needs_scrolling_sideways(width: int, place: str, pages: Pages) -> None:
    """The matrix scrolls in its own frame."""
    page = pages.open(render(of_catalogue()), place, width=width).page
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@needs_chromium
def test_dark_follows_the_reader(pages: Pages) -> None:
    """The ground is dark and the text light, and the other way round."""
    look = "(() => { const it = getComputedStyle(document.body); return [it.backgroundColor, it.color] })()"
    html = render(of_catalogue("one-call"))
    light, dark = (pages.open(html, dark=dark).page.evaluate(look) for dark in (False, True))
    assert ["rgb(251, 250, 247)", "rgb(29, 27, 24)"] == light
    assert ["rgb(21, 22, 26)", "rgb(232, 229, 221)"] == dark


@needs_chromium
def test_it_works_without_javascript(pages: Pages) -> None:
    """Every cell of the matrix leads to its scenario, what is folded opens, and what needs script is not shown."""
    page = pages.open(render(of_catalogue()), script=False).page
    assert not page.locator("#filter").is_visible()
    assert not page.locator("main > section").first.is_visible()
    page.locator("#matrix td a").first.click()
    assert page.locator("main > section").first.is_visible()
    assert not page.locator("#matrix").is_visible()
    page.locator("main > section").first.locator(".wire > summary").first.click()
    page.locator(".ex > summary").first.click()
    assert '"messages"' in page.locator("pre.raw").first.inner_text()
    page.locator(".brand a").click()
    assert page.locator("#matrix").is_visible()


def pressed(opened: Opened, *keys: str) -> list[str]:
    """Where each key leads: the scenario in the address, and the text that has the focus."""
    for key in keys:
        opened.page.keyboard.press(key)
    opened.page.wait_for_timeout(50)
    here = "(document.querySelector('.here') || {textContent: ''}).textContent.slice(0, 12)"
    found: list[str] = opened.page.evaluate(f"[location.hash, {here}]")
    return found


@needs_chromium
def test_the_keyboard_leads_through_scenarios_findings_and_rounds(pages: Pages) -> None:
    """j and k, n and p, ] and [, o and /; and nothing is said on the console."""
    opened = pages.open(render(of_catalogue()))
    assert ["#1", ""] == pressed(opened, "j")
    assert ["#2", ""] == pressed(opened, "j")
    assert ["#1", ""] == pressed(opened, "k")
    assert ["#1", "round 1"] == pressed(opened, "]")
    assert ["#1", "round 2"] == pressed(opened, "]")
    assert ["#1", "round 1"] == pressed(opened, "[")
    first = pressed(opened, "n")
    assert first != pressed(opened, "n")
    assert first == pressed(opened, "p")
    assert "#top" == pressed(opened, "o")[0]
    opened.page.keyboard.press("/")
    assert "fq" == opened.page.evaluate("document.activeElement.id")
    assert ([], []) == (opened.said, opened.asked)


@needs_chromium
def test_the_matrix_can_be_narrowed(pages: Pages) -> None:
    """By a text, which may stand in the scenario; by a class of findings; by a lane."""
    page = pages.open(render(of_catalogue())).page
    rows = "[...document.querySelectorAll('#matrix tbody tr:not([hidden])')].map(one => one.cells[0].innerText)"
    page.fill("#fq", "dlrow")
    assert ["control-characters-in-an-answer"] == [name.split()[0] for name in page.evaluate(rows)]
    page.fill("#fq", "")
    page.select_option("#fc", "lost-field")
    assert ["reasoning-content-lost"] == [name.split()[0] for name in page.evaluate(rows)]
    page.select_option("#fl", "0")
    assert [] == page.evaluate(rows)


@needs_chromium
@pytest.mark.parametrize("make", [render, packed])
def test_a_request_can_be_sent_again_as_it_was(make: Any, pages: Pages) -> None:
    """The command that is copied gives curl the exact bytes of the body, packed or not."""
    data = of_catalogue("one-call")
    body = data["comparisons"][0]["lanes"][0]["exchanges"][1]["body"]
    page = pages.open(make(data)).page
    page.locator(".wire > summary").first.click()
    page.locator(".ex > summary").nth(1).click()
    page.locator(".ex").nth(1).locator("button").click()
    page.wait_for_timeout(100)
    command = page.locator(".ex").nth(1).locator(".curl code").inner_text()
    script = f'OPENAI_BASE_URL=u; OPENAI_API_KEY=k; curl() {{ printf %s "${{@: -1}}"; }}\n{command}'
    assert body == subprocess.run([BASH, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "Bearer $OPENAI_API_KEY" in command


@needs_chromium
def test_a_reply_lights_up_where_it_went(pages: Pages) -> None:
    """What the next request has of it byte for byte is marked in both; what it repeats is set back."""
    page = pages.open(render(of_catalogue("reasoning-content-lost"))).page
    bodies = page.evaluate(
        """[...document.querySelector('.lanes [data-l=lc]').querySelectorAll('pre.raw')].map(one =>
          [...one.querySelectorAll('mark')].map(it => it.textContent))"""
    )
    request, reply, later, _ = bodies
    assert [] == request
    assert '"call_1"' in reply
    assert '"call_1"' in later
    assert not [text for text in (*reply, *later) if "product" in text]
    assert page.locator("pre.raw .old").count() > 0


def test_a_text_without_end_costs_one_look() -> None:
    """A reply that broke off within a text, full of escaped quotation marks."""
    begun = time.process_time()
    assert ['"' + '\\"' * 100_000] == lit('"' + '\\"' * 100_000, {"no such text"})
    assert time.process_time() - begun < 2.0
