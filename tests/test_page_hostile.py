"""Everything from a model, a tool or a header is text on the page, wherever it stands."""

import jsonschema
import pytest

from compare.page import render
from compare.page.markup import ALLOWED, el, source
from tests.browser import Pages, needs_chromium
from tests.page_reports import ATTACK, hostile, of_catalogue, packed
from tests.test_report import SCHEMA

OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
SHAPE = """() => ({
  tags: [...new Set([...document.querySelectorAll('*')].map(one => one.localName))],
  handlers: [...document.querySelectorAll('*')].filter(
    one => [...one.attributes].some(it => it.name.startsWith('on') || it.name === 'style' || it.name === 'src')).length,
  outside: [...document.querySelectorAll('[href]')].filter(
    one => !one.getAttribute('href').startsWith('#')).length,
  scripts: document.scripts.length, styles: document.querySelectorAll('style').length,
  shown: document.body.getClientRects().length, ran: window.ran === undefined, title: document.title,
  hidden: /[\\u0000-\\u0008\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(document.documentElement.outerHTML),
})"""


@needs_chromium
@pytest.mark.parametrize("make", [render, packed])
def test_a_trace_that_is_hostile_everywhere_stays_text(make: object, pages: Pages) -> None:
    """In full and packed: nothing runs, nothing is fetched, no element or attribute is made, and the title stays."""
    data = hostile(of_catalogue())
    jsonschema.validate(data, SCHEMA)
    html = render(data, full=True) if make is render else packed(data)
    opened = pages.open(html, "#1")
    opened.page.evaluate(OPEN_ALL)
    opened.page.wait_for_timeout(300)
    opened.page.evaluate(OPEN_ALL)  # what the first opening unpacked
    found = opened.page.evaluate(SHAPE)
    assert ([], []) == (opened.said, opened.asked)
    assert set(found["tags"]) <= ALLOWED
    assert (0, 0, 1, 1, True, "Diptych: report", False) == (
        found["handlers"],
        found["outside"],
        found["scripts"] - (make is packed),
        found["styles"],
        found["ran"],
        found["title"],
        found["hidden"],
    )
    assert found["shown"]
    assert (opened.page.text_content("body") or "").count("{{7*7}}") > 500
    assert opened.page.locator("pre.raw").count() > 10


@needs_chromium
def test_the_policy_lets_nothing_load_or_run(pages: Pages) -> None:
    """Not even what gets into the page another way."""
    opened = pages.open(render(of_catalogue("one-call")))
    blocked = opened.page.evaluate(
        """async () => {
          const names = [];
          addEventListener('securitypolicyviolation', event => names.push(event.effectiveDirective));
          const script = document.createElement('script'); script.text = 'window.ran = 1'; document.body.append(script);
          new Image().src = 'https://evil.example/x';
          document.body.setAttribute('style', 'color:red');
          await fetch('https://evil.example/').catch(() => 0);
          await new Promise(done => setTimeout(done, 200));
          return [window.ran === undefined, [...new Set(names)].sort()];
        }"""
    )
    assert [True, ["connect-src", "img-src", "script-src-elem", "style-src-attr"]] == blocked


def test_markup_is_made_from_nothing_but_its_parts() -> None:
    """A text, an attribute's value, and what is joined to markup."""
    assert '<p class="&quot;&lt;b&gt;">&lt;i&gt;⟨U+202E⟩' == el("p", {"class": '"<b>'}, "<i>\u202e")
    assert "<p>&lt;b&gt;&lt;/b&gt;" == el("p", None, str(el("b")) + "")


@pytest.mark.parametrize("name", ["style", "onclick", "src", "srcdoc", "action"])
def test_no_attribute_holds_style_or_script(name: str) -> None:
    """They are refused, not escaped."""
    with pytest.raises(ValueError, match=name):
        el("p", {name: "x"})


@pytest.mark.parametrize("address", ["https://evil.example", "javascript:alert(1)", ATTACK, ""])
def test_an_address_leads_into_the_page(address: str) -> None:
    """And nowhere else."""
    with pytest.raises(ValueError, match="into the page"):
        el("a", {"href": address}, "x")


def test_an_unknown_element_is_refused() -> None:
    """Only elements that the page needs can be made; a script is no child of markup that ends early."""
    with pytest.raises(ValueError, match="iframe"):
        el("iframe")
    with pytest.raises(ValueError, match="cannot stand"):
        source("script", "</script>")
