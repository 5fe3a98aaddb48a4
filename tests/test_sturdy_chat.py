"""`python -m lc.sturdy`: a chat at a terminal or through pipes, which goes on where it ended."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from compare.replies import Delta, ScriptedStream
from compare.server import ModelServer
from lc.sturdy.approval import REFUSED
from lc.sturdy.review import NOBODY
from protocol import STOP_REASONS
from tests.servers import bodies, calls, fails, results, says, serving
from toolbox.console import exit_status

WRITE = calls(("c1", "write_text_file", '{"path": "a.txt", "text": "new"}'))
SLOW = ScriptedStream((Delta('{"role": "assistant", "content": "Hel"}'), Delta('{"content": "lo"}', "stop", pause=20)))
PATIENCE = 30.0
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Only a process with a terminal of its own is sent a signal when Ctrl-C is typed there."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder for the conversations, beside the one for the tools."""
    (tmp_path / "root").mkdir()
    return tmp_path


def command(*arguments: str) -> list[str]:
    """The command with these arguments."""
    return [sys.executable, "-m", "lc.sturdy", *arguments]


def environment(server: ModelServer | None, home: Path) -> dict[str, str]:
    """The settings that lead to the server, and to a state folder of the test's own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "NO_COLOR"))}
    own = {"OPENAI_API_KEY": "sk-secret", "OPENAI_MODEL": "m", "XDG_STATE_HOME": str(home), "TERM": "xterm"}
    return clean | own | ({"OPENAI_BASE_URL": server.base_url} if server else {})


def chat(server: ModelServer, home: Path, *arguments: str, typed: str | bytes = "") -> subprocess.CompletedProcess[str]:
    """Run the command to its end with this on its standard input."""
    ran = subprocess.run(
        command("--root", str(home / "root"), *arguments),
        input=typed.encode() if isinstance(typed, str) else typed,
        capture_output=True,
        env=environment(server, home),
        check=False,
        timeout=60,
    )
    return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())


class Terminal:
    """A person's side of a terminal in which the command runs."""

    def __init__(self, master: int, process: "subprocess.Popen[bytes]") -> None:
        self.master, self.process = master, process
        self.seen, self._told = "", 0

    def type(self, text: str) -> None:
        """Type this, as slowly as a person: Python loses a Ctrl-C at the moment when its line editor begins to wait."""
        time.sleep(0.3)
        os.write(self.master, text.encode())

    def wait_for(self, text: str) -> None:
        """Read on until the text is there, behind what was waited for before."""
        end = time.monotonic() + PATIENCE
        while (found := self.seen.find(text, self._told)) < 0:
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.seen}"
            self._read()
        self._told = found + len(text)

    def status(self) -> int:
        """The exit status, once the command has ended."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end:\n{self.seen}"
            self._read()
        return self.process.wait()

    def _read(self) -> None:
        if select.select([self.master], [], [], 0.1)[0]:
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:  # the other side is closed
                time.sleep(0.01)


@contextmanager
def terminal(server: ModelServer, home: Path, *arguments: str) -> Iterator[Terminal]:
    """The command in a terminal; it is killed at the end, if it still runs."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", OWN_TERMINAL, *command("--root", str(home / "root"), *arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(server, home),
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(master)


def asked(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The role and the content of each message of a request."""
    return [(message["role"], message["content"]) for message in body["messages"]]


def test_one_turn_writes_the_answer_alone_to_standard_output(home: Path) -> None:
    """Calls, results and what the model says beside them are progress, on standard error."""
    (home / "root" / "b.txt").write_text("hello", encoding="utf-8")
    look = calls(("c1", "read_text_file", '{"path": "b.txt"}'), ("c2", "nothing", "{}"))
    with serving(look, says("It says hello.")) as server:
        ran = chat(server, home, "read it", "--system", "be brief")
        sent = bodies(server)
    assert (ran.returncode, ran.stdout) == (0, "It says hello.\n")
    assert '[tool] read_text_file({"path": "b.txt"})\n' in ran.stderr
    assert re.search(r'\[result\] \{"ok": true, .*hello.* \(\d\.\d s\)\n', ran.stderr)
    assert "[not run] nothing({}): " in ran.stderr
    assert "\x1b" not in ran.stderr
    assert asked(sent[0]) == [("system", "be brief"), ("user", "read it")]
    names = [tool["function"]["name"] for tool in sent[0]["tools"]]
    assert "write_text_file" not in names
    assert not (home / "diptych").exists()


def test_the_exit_status_names_the_stop_reason(home: Path) -> None:
    """As of the other lanes: the limits and the failures have each their own."""
    with serving(calls(("c1", "calculator", '{"expression": "1"}')), fails(401, "Incorrect API key")) as server:
        limited = chat(server, home, "go", "--max-rounds", "1")
        refused = chat(server, home, "go", "--no-stream")
    assert (limited.returncode, limited.stdout) == (exit_status("round-limit"), "")
    assert f"[stop] round-limit: {STOP_REASONS['round-limit']}" in limited.stderr
    assert refused.returncode == exit_status("http-error")
    assert "Incorrect API key" in refused.stderr
    assert "sk-secret" not in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (["hi", "--memory", "x.sqlite"], "name one with --thread"),
        (["hi", "--thread", "t", "--memory", "no/such/folder/x.sqlite"], "mkdir -p no/such/folder"),
        (["hi", "--approve", "maybe"], "'maybe' is not one of"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(home: Path, arguments: list[str], mend: str) -> None:
    """No traceback, what mends it, and status 2."""
    with serving() as server:
        ran = chat(server, home, *arguments)
    assert ran.returncode == 2
    assert mend in ran.stderr
    assert "Traceback" not in ran.stderr


def test_help_loads_no_framework() -> None:
    """--help answers in a fifth of a second of CPU time; the best of five tries counts."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'lc.sturdy', '--help'], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    tries = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(one.stdout) for one in tries) < 0.2


def test_a_pipe_is_a_conversation_line_by_line(home: Path) -> None:
    """Each line is a turn of one history; the status is that of the last; bytes that are no UTF-8 become escapes."""
    with serving(says("one"), says("two"), fails(400)) as server:
        ran = chat(server, home, typed=b"first\n\nsecond \xff\nthird")
        sent = bodies(server)
    assert ran.stdout == "one\ntwo\n"
    assert ran.returncode == exit_status("http-error")
    assert asked(sent[1]) == [("user", "first"), ("assistant", "one"), ("user", "second \\xff")]
    assert sent[2]["messages"][-1] == {"role": "user", "content": "third"}


def test_a_thread_goes_on_where_it_ended(home: Path) -> None:
    """Its history is kept under its name, in a folder for its owner alone."""
    with serving(says("one"), says("two")) as server:
        first = chat(server, home, "a", "--thread", "t")
        second = chat(server, home, "b", "--thread", "t")
        sent = bodies(server)
    assert "[thread] t is new" in first.stderr
    assert "[thread] t goes on: 2 messages" in second.stderr
    assert asked(sent[1]) == [("user", "a"), ("assistant", "one"), ("user", "b")]
    assert (home / "diptych").stat().st_mode & 0o777 == 0o700


def test_a_person_decides_on_standard_input(home: Path) -> None:
    """Yes, no, a reason, an edit that is asked for again until it can be used; the end of the input rejects."""
    names = ["yes", "no", "why", "edit", "end"]
    asks = [calls((name, "write_text_file", f'{{"path": "{name}", "text": "new"}}')) for name in names]
    typed = 'a\ny\nb\n\nno\nc\nnot today\nd\ne\n[]\nE\n{"path": "edit", "text": "mine"}\ne'
    with serving(*(reply for one in asks for reply in (one, says("done")))) as server:
        ran = chat(server, home, "--write", typed=typed)
        told = dict(results(bodies(server)[-1]))
    assert (ran.returncode, ran.stdout) == (0, "done\n" * 5)
    assert [line for line in ran.stderr.splitlines() if line.startswith("[approval]")] == [
        f'[approval] write_text_file({{"path": "{name}", "text": "new"}})' for name in names
    ]
    assert ran.stderr.count("[problem] ") == 1
    written = {file.name: file.read_text(encoding="utf-8") for file in (home / "root").iterdir()}
    assert written == {"yes": "new", "edit": "mine"}
    assert told["edit"]["edited_arguments"] == {"path": "edit", "text": "mine"}
    assert [told[name]["error"] for name in ("no", "why", "end")] == [REFUSED, "not today", NOBODY]


@pytest.mark.parametrize(("approve", "written"), [("always", True), ("never", False)])
def test_nobody_need_be_asked(home: Path, approve: str, written: bool) -> None:
    """With always, tools that change something run; with never, none does, and the model is told."""
    with serving(WRITE, says("done")) as server:
        ran = chat(server, home, "write", "--write", "--approve", approve, typed="y\n")
        ((_, observation),) = results(bodies(server)[1])
    assert ran.returncode == 0
    assert "[approval]" not in ran.stderr
    assert (written, written) == ((home / "root" / "a.txt").exists(), observation["ok"])


def test_a_killed_turn_is_shown_and_can_be_finished(home: Path) -> None:
    """After kill -9 in the middle of a reply, the thread says what it was about, and goes on when that is wanted."""
    with serving(calls(("c1", "calculator", '{"expression": "6*7"}')), SLOW, says("42"), says("more")) as server:
        with terminal(server, home, "what is 6*7?", "--thread", "t") as person:
            person.wait_for("Hel")
            person.process.send_signal(signal.SIGKILL)
            assert person.status() == -signal.SIGKILL
        left = chat(server, home, "--thread", "t")
        gone_on = chat(server, home, "--thread", "t", typed="y\nand then?\n")
        sent = bodies(server)
    assert "[thread] its last turn was not finished: 'what is 6*7?', stopped before model" in left.stderr
    assert (left.returncode, left.stdout) == (0, "")
    assert (gone_on.returncode, gone_on.stdout) == (0, "42\nmore\n")
    assert sent[2]["messages"] == sent[1]["messages"]
    assert results(sent[2]) == [("c1", {"ok": True, "result": 42})]
    assert asked(sent[3])[-2:] == [("assistant", "42"), ("user", "and then?")]


def test_a_call_that_waits_is_answered_by_the_next_process(home: Path) -> None:
    """The chat that asked is killed; the next one on the thread asks again, and the call is run once."""
    with serving(WRITE, says("written")) as server:
        with terminal(server, home, "write", "--thread", "t", "--write") as person:
            person.wait_for("run it?")
            person.process.send_signal(signal.SIGKILL)
            person.status()
        ran = chat(server, home, "--thread", "t", "--write", typed="y\n")
        sent = bodies(server)
    assert "[thread] its last turn waits for approval" in ran.stderr
    assert '[approval] write_text_file({"path": "a.txt", "text": "new"})' in ran.stderr
    assert ran.stdout == "written\n"
    assert (home / "root" / "a.txt").read_text(encoding="utf-8") == "new"
    assert [call_id for call_id, _ in results(sent[1])] == ["c1"]


def test_ctrl_c_ends_the_turn_and_ctrl_d_the_chat(home: Path) -> None:
    """A turn that is interrupted ends at once, and the next one has a legal history; at the prompt only the line goes.

    The words are shown before the reply is whole.
    """
    with serving(WRITE, SLOW, says("fine"), says("bye")) as server:
        with terminal(server, home, "--write") as person:
            person.wait_for("> ")
            person.type("write it\n")
            person.wait_for("run it?")
            person.type("\x03")
            person.wait_for("interrupted")
            person.type("say hello\n")
            person.wait_for("Hel")
            begun = time.monotonic()
            person.type("\x03")
            person.wait_for("interrupted")
            assert time.monotonic() - begun < 10
            person.wait_for("> ")
            person.type("half a line\x03")
            person.wait_for("> ")
            person.type("how are you?\n")
            person.wait_for("fine")
            person.wait_for("> ")
            person.type("\x04")
            assert person.status() == 0
        last = bodies(server)[2]
    assert [role for role, _ in asked(last)] == ["user", "assistant", "tool", "user", "user"]
    assert results(last)[0][1]["error_type"] == "not_run"
    assert asked(last)[-1] == ("user", "how are you?")
    assert not (home / "root" / "a.txt").exists()


def test_ctrl_c_in_a_single_turn_ends_the_command(home: Path) -> None:
    """With status 130, as a shell says it."""
    with serving(SLOW) as server, terminal(server, home, "hi") as person:
        person.wait_for("Hel")
        person.type("\x03")
        assert person.status() == 130
        person.wait_for("interrupted")


def test_a_terminal_shows_who_is_waited_for_and_obeys_no_control_character(home: Path) -> None:
    """A spinner turns on a terminal; what the model says cannot move the cursor; a line can be edited."""
    asks = calls(("c1", "calculator", '{"expression": "\x1b[2J"}'))
    with serving(asks, says("a\x1b[2Jb\u202ec")) as server:
        with terminal(server, home) as person:
            person.wait_for("> ")
            person.type("helo\x7flo\n")  # one character taken back
            person.wait_for("the model")
            person.wait_for("a\\x1b[2Jb\\u202ec\n")
            person.wait_for("> ")
            person.type("\x04")
            assert person.status() == 0
        assert asked(bodies(server)[0]) == [("user", "hello")]
    assert "\x1b[2J" not in person.seen
    assert "\u202e" not in person.seen


def test_an_edit_begins_with_what_the_model_wrote(home: Path) -> None:
    """At a terminal the arguments are there to be changed."""
    with serving(WRITE, says("done")) as server, terminal(server, home, "write", "--write") as person:
        person.wait_for("run it?")
        person.type("e\n")
        person.wait_for('arguments: {"path": "a.txt", "text": "new"}')
        person.type('\x7f\x7fer"}\n')
        person.wait_for("done")
        assert person.status() == 0
    assert (home / "root" / "a.txt").read_text(encoding="utf-8") == "newer"


def test_an_answer_that_cannot_be_written_ends_the_chat(home: Path) -> None:
    """A full disk is found out: status 1, and no traceback."""
    with serving(says("hello")) as server, open("/dev/full", "wb") as full:
        ran = subprocess.run(
            command("hi"), stdout=full, stderr=subprocess.PIPE, env=environment(server, home), check=False, timeout=60
        )
    assert ran.returncode == 1
    assert b"the output cannot be written" in ran.stderr
    assert b"Traceback" not in ran.stderr
