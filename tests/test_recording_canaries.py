"""A key that is put everywhere at once is found nowhere in what a run wrote."""

import base64
import json
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from compare.heard import heard
from compare.recording.load import load
from compare.recording.spread import spread
from compare.replies import Piece, Reply, compact
from compare.secrets import Masker, edited
from compare.server import Request
from tests.recordings import lines_of, record_backend
from tests.test_cli import diptych

KEY = "cnry/Zq7+Xv9-CANARY-0123"
TOKEN = "ghp_" + "CANARY" * 4 + "0123456789"
PEM = "-----BEGIN PRIVATE KEY-----\nMIICANARYCANARY\n-----END PRIVATE KEY-----"
TRACES = (
    b"CANARY",
    urllib.parse.quote(KEY, safe="").encode(),
    *(base64.b64encode(b"u" * before + KEY.encode())[4:-4] for before in range(3)),
)
SCENARIO = f"""
title = "Secrets in every place"
teaches = "None of them may be written down."
prompt = 'Read all. My key is {KEY}'
system = 'Use {KEY}, or {TOKEN}.'

[workspace]
"a.txt" = '''{PEM}
and {KEY} and {base64.b64encode(f"me:{KEY}".encode()).decode()} and {urllib.parse.quote(KEY, safe="")}'''

[[reply]]
tool_calls = [
  {{ id = "call_1", name = "read_text_file", arguments = '{{"path": "a.txt"}}' }},
  {{ id = "call_{KEY}", name = "calculator", arguments = '{{"expression": "{KEY}"}}' }},
  {{ id = "call_3", name = "read_text_file", arguments = '{{"path": "{KEY}.txt"}}' }},
]

[[reply]]
status = 401
headers = {{ "x-request-id" = "{KEY}", "Set-Cookie" = "k={KEY}" }}
body = '{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}'
"""
LANE = """
import httpx, json, raw
def run(prompt, tools, *, base_url, api_key, **rest):
    import os
    key = prompt.rpartition(" ")[2]
    body = {"model": "m", "messages": [{"role": "user", "content": json.dumps({"inner": prompt})}]}
    headers = {"Authorization": "Bearer " + key, "X-Mine": key, "User-Agent": "agent/" + key}
    httpx.post(base_url + "/chat/completions?api_key=" + key, json=body, headers=headers)
    httpx.get(base_url + "/" + key)
    httpx.post(base_url + "/chat/completions", content=("no json, but " + key).encode())
    httpx.post(base_url + "/chat/completions", content=b"\\xff" + key.encode())
    raw.run(prompt, tools, base_url=base_url, api_key=api_key, **rest)
    raise RuntimeError("failed with " + key)
"""


def written_in(folder: Path) -> dict[str, bytes]:
    """Everything that lies in a folder, but for what we put there."""
    mine = {"mine.toml", "agent.py"}
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in mine and path.suffix != ".pyc"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def traces_in(data: bytes) -> list[bytes]:
    """The traces of the canary in it."""
    return [trace for trace in TRACES if trace in data]


WRITTEN = {"r.jsonl", "report.json", "replay.json", "r.har", "m.toml", "test_r.py", "again.jsonl"}
USES = {
    "--plain": [
        ["export", "r.jsonl", "--har", "r.har", "--minimal", "m.toml", "--pytest", "test_r.py", "--lanes", "raw,lc"],
        ["export", "r.jsonl", "--curl", "1"],
        ["import", "r.har", "again.jsonl"],
        ["replay", f"{KEY}.jsonl"],
        ["run", KEY],
        ["export", "r.jsonl", "--curl", KEY],
    ],
    "--stream": [
        ["replay", "r.jsonl", "--lanes", "agent,raw,lc", "--json", "replay.json"],
        ["replay", "r.jsonl", "--lanes", "agent,raw,lc"],
        ["export", "r.jsonl", "--har", "r.har"],
        ["run", "one-call", "--lanes", KEY],
    ],
}


@pytest.mark.parametrize("mode", USES)
def test_nothing_that_a_run_wrote_holds_the_key(tmp_path: Path, mode: str) -> None:
    """Not the recording, the report, the output, the errors, nor anything that is made of the recording."""
    (tmp_path / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "agent.py").write_text(LANE, encoding="utf-8")
    record = ["run", "mine.toml", mode, "--lanes", "agent,raw,lc", "--record", "r.jsonl", "--json", "report.json"]
    outputs = []
    for arguments in (record, *USES[mode]):
        ran = diptych(*arguments, cwd=tmp_path, OPENAI_API_KEY=KEY)
        assert "Traceback" not in ran.stderr
        outputs.append((arguments, (ran.stdout + ran.stderr).encode()))
    recording = load(tmp_path / "r.jsonl")
    assert recording.missing == []
    assert recording.masked == lines_of(tmp_path / "r.jsonl")[-1]["masked"] > 20
    files = written_in(tmp_path)
    assert {word for use in (record, *USES[mode]) for word in use if word in WRITTEN} <= files.keys()
    for name, data in files.items():
        assert traces_in(data) == [], name
    for arguments, output in outputs:
        assert traces_in(output) == [], arguments


def streamed(*texts: str, size: int = 9) -> list[Piece]:
    """Events whose deltas spread the texts, one a piece."""
    pieces = []
    for key, text in zip(("content", "reasoning", "arguments"), texts, strict=False):
        for start in range(0, len(text), size):
            part = text[start : start + size]
            delta: dict[str, Any] = {key: part}
            if key == "arguments":
                call: dict[str, Any] = {"index": 0, "function": {"arguments": part}}
                if not start:
                    call |= {"id": "c1", "type": "function"}
                    call["function"] = {"name": "calculator", "arguments": part}
                delta = {"tool_calls": [call]}
            chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "created": 1}
            pieces.append(Piece(f"data: {compact(chunk)}\n\n".encode(), 0.0))
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return [*pieces, Piece(f"data: {compact(last)}\n\ndata: [DONE]\n\n".encode())]


@pytest.mark.parametrize("cut", [1, 7, 50, 10_000])
def test_a_key_that_a_stream_spreads_is_found(tmp_path: Path, cut: int) -> None:
    """Over deltas, over pieces of the connection, or over both; what is not masked stays as it came."""
    told = (f"so {KEY} it is", f"hm {TOKEN}", json.dumps({"expression": KEY}))
    body = b"".join(piece.data for piece in streamed(*told))
    pieces = tuple(Piece(body[at : at + cut]) for at in range(0, len(body), cut))

    def answer(request: Request) -> Reply:
        return Reply(200, (("Content-Type", "text/event-stream"),), body, pieces=pieces)

    path = tmp_path / "r.jsonl"
    record_backend(path, answer, [KEY], stream=True, max_rounds=1)
    exchange = load(path).runs[0].run.exchanges[0]
    message = heard(exchange).message
    assert message is not None
    assert (message["content"], message["reasoning"]) == ("so [masked] it is", "hm [masked]")
    assert message["tool_calls"][0]["function"]["arguments"] == '{"expression": "[masked]"}'
    assert len(exchange.reply.pieces) == len(pieces)
    assert b"".join(piece.data for piece in exchange.reply.pieces) == exchange.reply.body


@pytest.mark.parametrize("front", ["", "\ufeff", "event: x\r"])
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("lines", [1, 2])
def test_a_key_that_a_stream_spreads_is_found_in_each_form_of_a_stream(front: str, end: str, lines: int) -> None:
    """With each end of a line, behind a byte order mark, between other fields, and in events of several lines."""
    between = f",{end}data: " if lines == 2 else ","
    events = [f'data: {{"n":1{between}"t":"{part}"}}{end}{end}' for part in (KEY[:9], KEY[9:])]
    body = f"{front}{''.join(events)}".encode()
    edits = spread(body, Masker([KEY]))
    assert [new for _, _, new in edits] == [b'{"n":1,"t":"[masked]"}', b'{"n":1,"t":""}']
    assert KEY[9:].encode() not in edited(body, edits, ())[0]


def test_a_key_is_found_in_a_stream_that_nobody_asked_for(tmp_path: Path) -> None:
    """Some endpoints stream whatever the request says."""
    pieces = tuple(streamed(f"so {KEY} it is", "", ""))

    def answer(request: Request) -> Reply:
        body = b"".join(piece.data for piece in pieces)
        return Reply(200, (("Content-Type", "text/event-stream"),), body, pieces=pieces)

    record_backend(tmp_path / "r.jsonl", answer, [KEY], max_rounds=1)
    assert b"[masked]" in load(tmp_path / "r.jsonl").runs[0].run.exchanges[0].reply.body


def test_a_stream_without_secrets_stays_byte_for_byte() -> None:
    """Also where its numbers and spaces are spelled in ways of their own."""
    body = b'data: {"a": 1.10, "b":[1e400 ]}\n\ndata: {"a": 1.10}\n\ndata: no json\n\n'
    assert spread(body, Masker([KEY])) == []


def test_a_masked_event_keeps_its_numbers_as_they_were_spelled() -> None:
    """Only the secret goes."""
    body = f'data: {{"t":"{KEY[:9]}","n":1.10}}\n\ndata: {{"t":"{KEY[9:]}","n":1e400}}\n\n'.encode()
    edits = spread(body, Masker([KEY]))
    assert [new for _, _, new in edits] == [b'{"t":"[masked]","n":1.10}', b'{"t":"","n":1e400}']


def test_a_command_lane_may_have_keys_of_its_own(tmp_path: Path) -> None:
    """Whatever the environment names as a secret is searched for."""
    env = {**os.environ, "OTHER_SERVICE_TOKEN": KEY}
    command = [sys.executable, "-m", "compare", "ask", f"say {KEY}", "--record", "r.jsonl"]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert traces_in(ran.stdout + ran.stderr + (tmp_path / "r.jsonl").read_bytes()) == []
