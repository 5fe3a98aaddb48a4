"""Bytes to data texts: where lines and events end, whatever pieces the bytes come in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import DEVIATIONS, SseReader

CUT_POINTS = st.lists(st.integers(0, 400), max_size=40)


def read(*pieces: bytes, end: bool = True) -> list[str]:
    reader = SseReader()
    texts = [text for piece in pieces for text in reader.feed(piece)]
    return texts + (reader.end() if end else [])


def cut(body: bytes, points: list[int]) -> list[bytes]:
    """The body in pieces, cut at these places."""
    places = sorted({point for point in points if 0 < point < len(body)})
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\r\n\ndata: b\n\r", ["a", "b"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a \n\n", [" a "]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\r\ndata: b\r\n\r\n", ["a\nb"]),
        (b"data: a\ndata\ndata:\n\n", ["a\n\n"]),
        (b"data:\n\n", [""]),
        (b": keep-alive\n\n\n\ndata: a\n: more\n\n", ["a"]),
        (b"event: x\nid: 1\nretry: 5\nfoo\n\ndata: a\nevent: y\n\n", ["a"]),
        (b"datum: a\n\nDATA: b\n\n data: c\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        ("data: \u2028\u0085\x0b\x0c\x1c\x1e\n\n".encode(), ["\u2028\u0085\x0b\x0c\x1c\x1e"]),
        ("data: ä€😀\n\n".encode(), ["ä€😀"]),
        (b"", []),
        (b"<html>\n\n", []),
    ],
)
def test_events_are_read_as_the_standard_has_them(body: bytes, texts: list[str]) -> None:
    """Lines end at LF, CR and CRLF alone, and one byte at a time reads as all at once."""
    assert read(body, end=False) == texts
    assert read(*(body[at : at + 1] for at in range(len(body))), end=False) == texts


@pytest.mark.parametrize(
    ("body", "texts", "deviations"),
    [
        (b"data: a\n\n", ["a"], ()),
        (b"data: a\n", ["a"], ("event-without-blank-line",)),
        (b"data: a\r", ["a"], ("event-without-blank-line",)),
        (b"data: [DONE]", ["[DONE]"], ("line-without-end",)),
        (b'data: {"a": 1}', ['{"a": 1}'], ("line-without-end",)),
        (b'data: {"a": 1', [], ("half-line",)),
        (b"data: 12", [], ("half-line",)),
        (b"data: [DO", [], ("half-line",)),
        (b"data: a\n\ndat", ["a"], ("half-line",)),
    ],
)
def test_the_end_takes_only_what_is_whole(body: bytes, texts: list[str], deviations: tuple[str, ...]) -> None:
    """What the standard would drop counts only where it cannot be half of something, and is named."""
    reader = SseReader()
    assert (reader.feed(body) + reader.end(), reader.deviations) == (texts, deviations)
    assert set(deviations) <= set(DEVIATIONS)


@pytest.mark.parametrize("front", [b"", b"\xef\xbb\xbf", b"\r\n \t"])
def test_a_plain_json_body_is_one_text(front: bytes) -> None:
    """A body that starts with a brace is no event stream, however many lines it has."""
    body = json.dumps({"choices": [{"message": {"content": "ä\n\n"}}]}, indent=1, ensure_ascii=False).encode()
    for pieces in ([front + body], [bytes([byte]) for byte in front + body]):
        (text,) = read(*pieces)
        assert json.loads(text) == json.loads(body)


def test_bytes_that_are_no_utf8_can_be_told() -> None:
    """They come out as lone surrogates, so that the text can be refused and not quietly changed."""
    (text,) = read(b"data: a\xff\n\n")
    with pytest.raises(UnicodeEncodeError):
        text.encode()


@given(
    st.lists(st.tuples(st.text(max_size=8), st.sampled_from(["\n", "\r\n", "\r"])), max_size=8),
    st.sampled_from(["", "\ufeff"]),
    CUT_POINTS,
)
def test_any_split_reads_the_same(events: list[tuple[str, str]], front: str, points: list[int]) -> None:
    """Cut anywhere, inside a character and inside CRLF too, the texts are the same, and so is what is forgiven."""
    lines = [f"data: {text.translate({10: None, 13: None})}{end}" for text, end in events]
    body = (front + "".join(line + ("\n" if place % 3 else "") for place, line in enumerate(lines))).encode()
    whole, pieced = SseReader(), SseReader()
    expected = whole.feed(body) + whole.end()
    assert [text for piece in cut(body, points) for text in pieced.feed(piece)] + pieced.end() == expected
    assert pieced.deviations == whole.deviations


@given(st.binary(max_size=200), CUT_POINTS)
def test_any_bytes_can_be_read(body: bytes, points: list[int]) -> None:
    """Whatever comes, nothing is raised, and the pieces do not matter."""
    assert read(*cut(body, points)) == read(body)


def test_a_long_line_in_small_pieces_is_cheap() -> None:
    """A megabyte in pieces of ten bytes is joined once, not once for each piece."""
    reader = SseReader()
    for _ in range(100_000):
        assert reader.feed(b"data: aaaa") == []
    assert [len(text) for text in reader.feed(b"\n\n")] == [999_994]
