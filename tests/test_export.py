"""A recording becomes what other tools read: an HTTP Archive, a scenario, a command, a test."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from haralyzer import HarParser  # type: ignore[import-untyped] # the package carries no types

from compare.lanes import load_lanes
from compare.recording.curl import curl
from compare.recording.error import RecordingError
from compare.recording.har import to_har
from compare.recording.har_import import import_har
from compare.recording.load import load
from compare.recording.minimal import write_minimal
from compare.recording.replay import prompts_of, replay_prompt
from compare.secrets import Masker
from compare.server import ModelServer
from tests.recordings import record_replies, recorded
from tests.servers import backend, calls, says
from tests.test_cli import diptych
from tests.test_recording import evidence

REQUIRED = {
    "entry": {"startedDateTime", "time", "request", "response", "cache", "timings"},
    "request": {
        "method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"
    },
    "response": {
        "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"
    },
    "timings": {"send", "wait", "receive"},
    "page": {"startedDateTime", "id", "title", "pageTimings"},
}  # fmt: skip
"""The fields that the HAR 1.2 format does not call optional."""


def archive(path: Path) -> dict[str, Any]:
    """The archive of a recording, as a program would read it."""
    data: dict[str, Any] = json.loads(json.dumps(to_har(load(path))))
    return data


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_a_library_reads_the_archive(tmp_path: Path, mode: str) -> None:
    """Pages, entries, times and bodies are where HAR has them."""
    (run,) = recorded(tmp_path / "r.jsonl", "two-calls-in-one-turn", mode=mode)
    parser = HarParser(archive(tmp_path / "r.jsonl"))
    assert (parser.version, parser.creator["name"]) == ("1.2", "Diptych")
    (page,) = parser.pages
    assert page.title.startswith("raw: ")
    assert [entry.request.method for entry in page.entries] == ["POST"] * len(run.exchanges)
    assert [entry.status for entry in page.entries] == [200] * len(run.exchanges)
    assert [entry.request.text.encode() for entry in page.entries] == [it.request.body.raw() for it in run.exchanges]
    assert [entry.response.text.encode() for entry in page.entries] == [it.reply.body for it in run.exchanges]
    assert len(page.post_requests) == len(run.exchanges)
    assert page.entries[0].startTime <= page.entries[-1].startTime


def test_every_field_that_the_format_wants_is_there(tmp_path: Path) -> None:
    """And every other begins with an underscore, or is one of the optional ones."""
    recorded(tmp_path / "r.jsonl", "connection-closed")
    log = archive(tmp_path / "r.jsonl")["log"]
    for entry in log["entries"]:
        assert REQUIRED["entry"] <= entry.keys()
        assert {"pageref", "_pieces", "_ending"} >= entry.keys() - REQUIRED["entry"]
        assert REQUIRED["request"] | {"postData"} >= entry["request"].keys() >= REQUIRED["request"]
        assert entry["response"].keys() == REQUIRED["response"]
        assert entry["timings"].keys() == REQUIRED["timings"]
        assert entry["time"] == pytest.approx(sum(entry["timings"].values()))
    assert {"_lane"} == log["pages"][0].keys() - REQUIRED["page"]


@pytest.mark.parametrize("name", ["two-calls-in-one-turn", "connection-closed", "character-cut-in-two"])
@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_an_archive_of_ours_comes_back(tmp_path: Path, name: str, mode: str) -> None:
    """What crossed the wire is the same again, lane by lane."""
    if name == "character-cut-in-two" and mode == "plain":
        pytest.skip("it runs in streams only")
    runs = recorded(tmp_path / "r.jsonl", name, "raw,lc", mode)
    (tmp_path / "r.har").write_text(json.dumps(to_har(load(tmp_path / "r.jsonl"))), encoding="utf-8")
    count = import_har(tmp_path / "r.har", tmp_path / "again.jsonl", [])
    again = load(tmp_path / "again.jsonl")
    assert count == sum(len(run.exchanges) for run in runs)
    assert [one.run.lane for one in again.runs] == ["raw", "lc"]
    for was, now in zip(runs, again.runs, strict=True):
        assert [one[:3] for one in evidence(was)] == [one[:3] for one in evidence(now.run)]


def browser(*bodies: tuple[dict[str, Any], str]) -> dict[str, Any]:
    """An archive as a browser or a proxy writes it."""
    entries: list[Any] = [{"request": {"method": "GET", "url": "https://api.example/v1/models"}, "response": {}}]
    for body, reply in bodies:
        request = {
            "method": "POST",
            "url": "https://api.example/openai/v1/chat/completions?api-version=1",
            "headers": [{"name": ":authority", "value": "x"}, {"name": "Authorization", "value": "Bearer CANARY12345"}],
            "postData": {"mimeType": "application/json", "text": json.dumps(body)},
        }
        response = {"status": 200, "headers": [], "content": {"mimeType": "application/json", "text": reply}}
        entries.append({"request": request, "response": response, "time": 12.5})
    return {"log": {"version": "1.2", "creator": {"name": "browser", "version": "1"}, "entries": entries}}


def test_an_archive_of_a_browser_is_imported_by_conversation(tmp_path: Path) -> None:
    """Without the headers that hold keys, and replays."""
    reply = json.dumps({"choices": [{"message": {"role": "assistant", "content": "12"}, "finish_reason": "stop"}]})
    asked = [{"model": "m", "messages": [{"role": "user", "content": text}]} for text in ("What is 3*4?", "And 2*6?")]
    har = tmp_path / "b.har"
    har.write_text(json.dumps(browser(*((body, reply) for body in asked))), encoding="utf-8")
    assert import_har(har, tmp_path / "r.jsonl", []) == 2
    recording = load(tmp_path / "r.jsonl")
    assert [(one.run.lane, one.run.task.prompt) for one in recording.runs] == [
        ("client", "What is 3*4?"),
        ("client 2", "And 2*6?"),
    ]
    assert "CANARY" not in (tmp_path / "r.jsonl").read_text(encoding="utf-8")


def test_an_archive_without_chat_completions_is_refused(tmp_path: Path) -> None:
    """In one line, and nothing is written."""
    (tmp_path / "b.har").write_text(json.dumps(browser()), encoding="utf-8")
    with pytest.raises(RecordingError, match=r"b\.har: holds no request to /chat/completions with a body"):
        import_har(tmp_path / "b.har", tmp_path / "r.jsonl", [])
    assert not (tmp_path / "r.jsonl").exists()


def test_an_entry_whose_address_is_none_is_left_out(tmp_path: Path) -> None:
    """As one to any other place is."""
    archive = browser(({"model": "m", "messages": [{"role": "user", "content": "hi"}]}, "{}"))
    archive["log"]["entries"].append({"request": {"method": "POST", "url": "http://[/v1/chat/completions"}})
    (tmp_path / "b.har").write_text(json.dumps(archive), encoding="utf-8")
    assert 1 == import_har(tmp_path / "b.har", tmp_path / "r.jsonl", [])


# --- curl ---


def test_the_command_sends_the_same_request(tmp_path: Path) -> None:
    """Run by a shell, with the key of the environment, and a text that a shell would act on."""
    path = tmp_path / "r.jsonl"
    prompt = """It's $(touch pwned) `touch pwned` "$HOME" \\ 日本 !! @file"""
    run = record_replies(path, says("12"), prompt=prompt)
    with ModelServer(backend(says("curled"))) as server:
        env = {**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "the-key"}
        command = ["bash", "-c", curl(load(path), 1)]  # whichever bash there is
        ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
        (exchange,) = server.exchanges
    assert exchange.request.body.raw() == run.exchanges[0].request.body.raw()
    assert ("Authorization", "Bearer the-key") in exchange.request.headers
    assert "curled" in ran.stdout
    assert not (tmp_path / "pwned").exists()


def test_a_number_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With how many there are."""
    record_replies(tmp_path / "r.jsonl", says("12"))
    with pytest.raises(RecordingError, match="has 1 requests, and none of number 2; name one of them"):
        curl(load(tmp_path / "r.jsonl"), 2)


# --- a scenario ---


def minimal(tmp_path: Path, lanes: str = "raw,lc") -> str:
    """The smallest scenario of the recording r.jsonl."""
    out = tmp_path / "m.toml"
    _, lacking = write_minimal(load(tmp_path / "r.jsonl"), load_lanes(lanes), out, Masker())
    assert lacking == frozenset()
    return out.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_the_smallest_scenario_shows_the_difference_and_runs_green(tmp_path: Path, mode: str) -> None:
    """Of three rounds, the one that loses a field is left; the text of the system is not needed."""
    replies = [
        calls(("c1", "calculator", '{"expression": "1+1"}')),
        calls(("c2", "calculator", '{"expression": "2+2"}'), reasoning="to be lost"),
        calls(("c3", "calculator", '{"expression": "3+3"}')),
        says("done"),
    ]
    record_replies(tmp_path / "r.jsonl", *replies, system="Be brief.", stream=mode == "stream")
    text = minimal(tmp_path)
    assert text.count("[[reply]]") == 2
    assert "to be lost" in text
    assert "system" not in text
    assert f'modes = ["{mode}"]' in text
    assert '"lost-field messages[1].reasoning"' in text
    assert "lc: lost-field messages.reasoning" in text
    ran = diptych("run", "m.toml", "--both", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_without_a_difference_the_whole_conversation_is_kept(tmp_path: Path) -> None:
    """There is nothing to reduce it by."""
    recorded(tmp_path / "r.jsonl", "one-call", "raw")
    assert minimal(tmp_path, "raw").count("[[reply]]") == 2
    assert diptych("run", "m.toml", "--both", "--lanes", "raw", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("html-with-status-502", "plain"),
        ("read-the-readme", "plain"),
        ("arguments-beyond-floats", "plain"),
        ("arguments-raw-newline", "plain"),
        ("character-cut-in-two", "stream"),
        ("connection-reset-in-a-call", "stream"),
        ("call-lost-in-a-stream", "stream"),
        ("error-in-a-stream", "stream"),
    ],
)
def test_whatever_was_recorded_makes_a_scenario(tmp_path: Path, name: str, mode: str) -> None:
    """With the files that were read, the errors and the breaks."""
    recorded(tmp_path / "r.jsonl", name, "raw,lc", mode)
    minimal(tmp_path)
    ran = diptych("run", "m.toml", "--both", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout


def test_what_the_first_lanes_replies_do_not_show_is_told(tmp_path: Path) -> None:
    """Each lane had its own number of retries, and the scenario has those of one."""
    recorded(tmp_path / "r.jsonl", "connection-closed", "raw,lc")
    _, lacking = write_minimal(load(tmp_path / "r.jsonl"), load_lanes("raw,lc"), tmp_path / "m.toml", Masker())
    assert lacking == {("lc", "stop connection-error")}


def test_files_outside_are_put_into_the_scenario(tmp_path: Path) -> None:
    """Those that the tools read whole: whoever gets the bug report does not have them."""
    (tmp_path / "notes.txt").write_text("buy milk\n", encoding="utf-8")
    replies = [calls(("c1", "read_text_file", '{"path": "notes.txt"}'), reasoning="lost"), says("milk")]
    record_replies(tmp_path / "r.jsonl", *replies, root=tmp_path)
    (tmp_path / "notes.txt").unlink()
    assert '"lost-field messages[1].reasoning"' in minimal(tmp_path)
    assert diptych("run", "m.toml", "--both", cwd=tmp_path).returncode == 0


# --- a test ---


@pytest.mark.parametrize("name", ["two-calls-in-one-turn", "reasoning-lost"])
def test_the_generated_test_passes(tmp_path: Path, name: str) -> None:
    """In a folder of its own, by a pytest that knows nothing of ours."""
    recorded(tmp_path / "r.jsonl", name, "raw,lc", "stream")
    out = tmp_path / "somewhere" / "test_replay.py"
    out.parent.mkdir()
    assert diptych("export", "r.jsonl", "--pytest", str(out), cwd=tmp_path).returncode == 0
    assert {path.name for path in out.parent.iterdir()} == {"test_replay.py", "test_replay.jsonl"}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(out)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout


def test_the_generated_test_fails_when_the_lane_changes(tmp_path: Path) -> None:
    """That is what it is for."""
    recorded(tmp_path / "r.jsonl", "one-call", "raw")
    (tmp_path / "mine.py").write_text("from raw import run\n", encoding="utf-8")
    assert diptych("export", "r.jsonl", "--pytest", "test_r.py", "--lanes", "mine", cwd=tmp_path).returncode == 0
    (tmp_path / "mine.py").write_text(
        "import raw\ndef run(prompt, tools, **rest):\n    return raw.run(prompt + '!', tools, **rest)\n", "utf-8"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_r.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "1 failed" in ran.stdout


def test_a_form_has_to_be_named(tmp_path: Path) -> None:
    """And the forms are listed."""
    recorded(tmp_path / "r.jsonl")
    ran = diptych("export", "r.jsonl", cwd=tmp_path)
    assert ran.returncode == 2
    assert "--har, --minimal, --curl or --pytest" in ran.stderr


SHIPPED = sorted((Path(__file__).parent.parent / "compare" / "recordings").glob("*.jsonl"))


def test_four_recordings_of_a_real_model_are_shipped() -> None:
    """Small enough to be read."""
    assert len(SHIPPED) == 4
    assert all(path.stat().st_size < 60_000 for path in SHIPPED)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.stem))
def test_a_shipped_recording_is_whole_and_replays(path: Path) -> None:
    """In both lanes: what a real model said is answered as it was."""
    recording = load(path)
    assert recording.missing == []
    for task, runs in prompts_of(recording):
        _, replays = replay_prompt(task, runs, load_lanes("raw,lc"))
        assert [one.agrees for one in replays] == [True, True]
