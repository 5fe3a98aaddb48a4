"""What a terminal may be shown: nothing that acts or hides, in no more cells than there are."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from compare.visible import MARKS_KEPT, shorten, visible

CODE_POINTS = st.characters(codec=None)  # lone surrogates included
TEXTS = st.text(
    st.one_of(CODE_POINTS, st.sampled_from("ab 中é\x1b\n\t\x7f\x9b\u202e\u200d\ufe0f\u0301\u0300⟨⟩👍🏽한\u1161"))
)
FORBIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("plain (text) ~", "plain (text) ~"),
        ("计算 (17 * 23) + 9，é ½ ⚠ 한국어 👍", "计算 (17 * 23) + 9，é ½ ⚠ 한국어 👍"),
        ("␛[31mred␛[0m", "\x1b[31mred\x1b[0m"),
        ("␀␇␈␉␊␍␟␡", "\0\a\b\t\n\r\x1f\x7f"),
        ("⟨U+0085⟩⟨U+009B⟩31m", "\x85\x9b31m"),
        ("⟨U+202E⟩txt.exe⟨U+2069⟩", "\u202etxt.exe\u2069"),
        ("a⟨U+200B⟩b⟨U+FEFF⟩⟨U+00AD⟩", "a\u200bb\ufeff\u00ad"),
        ("👩⟨U+200D⟩💻 ❤⟨U+FE0F⟩ 👍⟨U+1F3FD⟩", "👩\u200d💻 ❤\ufe0f 👍🏽"),
        ("⟨U+2028⟩⟨U+2029⟩", "\u2028\u2029"),
        ("⟨U+D800⟩x⟨U+DFFF⟩", "\ud800x\udfff"),
        ("⟨U+FFFF⟩⟨U+10FFFF⟩⟨U+E000⟩", "\uffff\U0010ffff\ue000"),
        ("⟨U+E0041⟩⟨U+E0100⟩⟨U+3164⟩⟨U+034F⟩", "\U000e0041\U000e0100\u3164\u034f"),
    ],
)
def test_each_kind_of_unsafe_character_has_its_stand_in(expected: str, text: str) -> None:
    """Controls, bidi, zero-width, surrogates and blanks are named; writing of any language stays as it is."""
    assert expected == visible(text)


def test_newlines_are_kept_on_request_and_nothing_else_is() -> None:
    """`keep_newlines` lets the line feed through, and neither the carriage return nor the vertical tab."""
    expected = "a\nb␍\nc␋⟨U+2028⟩"
    assert expected == visible("a\nb\r\nc\v\u2028", keep_newlines=True)


def test_a_pile_of_marks_is_capped() -> None:
    """Four marks stay on their letter, and each one after them is named."""
    expected = "a" + "\u0301" * 4 + "⟨U+0301⟩⟨U+0301⟩b\u0301"
    assert expected == visible("a" + "\u0301" * 6 + "b\u0301")


def test_a_mark_without_a_letter_does_not_sit_on_what_stands_before_the_text() -> None:
    """A mark at the start of the text or of a kept line is named."""
    expected = "⟨U+0301⟩a\n⟨U+0301⟩b"
    assert expected == visible("\u0301a\n\u0301b", keep_newlines=True)


@given(TEXTS, st.booleans())
def test_nothing_that_acts_or_hides_survives(text: str, keep_newlines: bool) -> None:
    """No character of a forbidden category is left, and the rest can be encoded."""
    shown = visible(text, keep_newlines=keep_newlines)
    allowed = "\n" if keep_newlines else ""
    assert set() == {c for c in shown if unicodedata.category(c) in FORBIDDEN} - set(allowed)
    assert shown == shown.encode().decode()


@given(TEXTS, st.booleans())
def test_what_is_visible_stays_as_it_is(text: str, keep_newlines: bool) -> None:
    """Passing the result in again changes nothing."""
    shown = visible(text, keep_newlines=keep_newlines)
    assert shown == visible(shown, keep_newlines=keep_newlines)


@given(TEXTS)
def test_no_long_run_of_characters_without_width_survives(text: str) -> None:
    """After a character with a cell come at most four without one, and none come first."""
    run = MARKS_KEPT
    for character in visible(text):
        run = 0 if cell_len(character) else run + 1
        assert run <= MARKS_KEPT


def test_no_code_point_is_forgotten() -> None:
    """Of the 1,114,112 code points, none of a forbidden category survives."""
    shown = set(visible("a".join(map(chr, range(sys.maxunicode + 1)))))
    assert set() == {character for character in shown if unicodedata.category(character) in FORBIDDEN}


@given(TEXTS)
def test_the_width_of_visible_text_is_the_sum_of_its_characters(text: str) -> None:
    """No character changes the width of another, so columns that were measured stay aligned."""
    shown = visible(text)
    assert sum(cell_len(character) for character in shown) == cell_len(shown)


@pytest.mark.parametrize(
    ("expected", "text", "width"),
    [
        ("hello", "hello", 5),
        ("hel…", "hello", 4),
        ("…", "hello", 1),
        ("", "hello", 0),
        ("", "hello", -3),
        ("", "", 0),
        ("中…", "中文字", 4),
        ("中文…", "中文字", 5),
        ("中文字", "中文字", 6),
        ("e\u0301…", "e\u0301e\u0301e\u0301", 2),
        ("a␊b…", "a\nb\nc", 4),
        ("a…", "a\u202eb", 8),
        ("a⟨U+202E⟩…", "a\u202ebc", 10),
    ],
)
def test_shorten_cuts_between_whole_characters(expected: str, text: str, width: int) -> None:
    """Wide characters, marked letters and stand-ins are kept whole or left out, and the cut is shown."""
    assert expected == shorten(text, width)


@given(TEXTS, st.integers(-1, 40))
@example("👩\u200d💻" * 9, 7)
def test_a_shortened_text_fits_and_is_the_start_of_the_whole(text: str, width: int) -> None:
    """It takes no more cells than allowed, and up to the ellipsis it is what `visible` gives."""
    short = shorten(text, width)
    whole = visible(text)
    assert cell_len(short) <= max(width, 0)
    assert short == whole or whole.startswith(short.removesuffix("…"))


def test_importing_visible_alone_does_not_import_rich() -> None:
    """The width tables are loaded when something is measured, and not before."""
    program = "import sys, compare.visible; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    expected = "False\n"
    assert expected == done.stdout
