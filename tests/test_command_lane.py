"""A lane that is a command: what it gets, how it is judged, what is kept of it, and that nothing of it is left."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from compare.backends import script
from compare.command import CommandFailed
from compare.comparison import Comparison, compare_scenario
from compare.lanes import LaneError, functions_only, load_lanes
from compare.report import report, to_json
from compare.runner import API_KEY, Run, Task, run_lane
from compare.scenario import CATALOGUE_FOLDER, load
from tests.servers import says

SCHEMA = json.loads((CATALOGUE_FOLDER.parent / "report.schema.json").read_text(encoding="utf-8"))
TASK = Task("What is 2 + 3?", "scripted-model", "Be short.", 5, {"docs/a.txt": "one\n"}, stream=True, timeout=7.5)
Written = Callable[[str], str]

AGENT = """
import json, os, sys, urllib.request

def ask(messages):
    url, key = os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"]
    body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages}).encode()
    request = urllib.request.Request(url, body, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]

messages = [{"role": "user", "content": sys.stdin.read()}]
while calls := messages.append(ask(messages)) or messages[-1].get("tool_calls"):
    messages += [{"role": "tool", "tool_call_id": RESULT_ID, "content": "400"} for call in calls]
print(messages[-1]["content"])
"""


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a Python program, and gives the command that runs it."""

    def program(text: str) -> str:
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text, encoding="utf-8")
        return f"{shlex.quote(sys.executable)} -I {shlex.quote(str(path))}"

    return program


def run(command: str, task: Task = TASK, deadline: float = 20.0) -> Run:
    """One run of the command as a lane, against a model that answers once."""
    (lane,) = load_lanes([f"mine=cmd:{command}"])
    return run_lane(lane, task, script([says("5")], "m"), deadline)


def compared(command: str, name: str = "one-call") -> Comparison:
    """The command beside the lane by hand, on a scenario of the catalogue."""
    lanes = load_lanes(["raw", f"mine=cmd:{command}"])
    return compare_scenario(load(CATALOGUE_FOLDER / f"{name}.toml"), lanes)


def told(run: Run) -> Any:
    """What the command wrote, as JSON."""
    assert run.process is not None
    return json.loads(run.process.stdout)


def alive(number: int) -> bool:
    """Whether a process with this number runs: one that only waits to be noticed by its parent does not."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def gone(number: int) -> bool:
    """Whether a process ends within two seconds."""
    for _ in range(100):
        if not alive(number):
            return True
        time.sleep(0.02)
    return False


# --- what it gets ---


def test_the_prompt_is_its_input_and_stands_where_it_is_asked_for(written: Written) -> None:
    """Nothing is added to a command that does not ask; and no shell reads the prompt."""
    program = written("import json, sys; print(json.dumps([sys.argv[1:], sys.stdin.read()]))")
    task = Task("$HOME; 'a' ü", "m")
    assert [[], task.prompt] == told(run(program, task))
    assert [["-p", f"={task.prompt}"], task.prompt] == told(run(f"{program} -p ={{prompt}}", task))


def test_a_prompt_longer_than_a_pipe_holds_nobody_up(written: Written) -> None:
    """Also where the command reads none of it."""
    assert "0" == str(told(run(written("print(0)"), Task("x" * 1_000_000, "m"))))


def test_it_finds_the_model_and_its_task_in_its_environment(written: Written) -> None:
    """The endpoint under the names that clients know, the rest under names of ours."""
    shows = (
        "import json, os, pathlib\n"
        "mine = {k: v for k, v in os.environ.items() if k.startswith(('OPENAI_', 'DIPTYCH_'))}\n"
        "mine['file'] = pathlib.Path(mine.pop('DIPTYCH_ROOT'), 'docs/a.txt').read_text()\n"
        "mine['key'] = len(mine.pop('OPENAI_API_KEY'))\n"
        "print(json.dumps(mine))"
    )
    ran = run(written(shows))
    assert {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{ran.port}/v1",
        "OPENAI_MODEL": "scripted-model",
        "DIPTYCH_STREAM": "1",
        "DIPTYCH_SYSTEM": "Be short.",
        "DIPTYCH_MAX_ROUNDS": "5",
        "DIPTYCH_TIMEOUT": "7.5",
        "file": "one\n",
        "key": len(API_KEY),
    } == told(ran)
    assert (
        not {"DIPTYCH_STREAM", "DIPTYCH_SYSTEM"}
        & told(run(written(shows), Task("", "m", None, 5, TASK.workspace))).keys()
    )


# --- how it is judged ---


def test_its_wire_is_judged_like_ours(written: Written) -> None:
    """A command that goes by the protocol gives no finding, though nobody saw its tools."""
    mine = compared(written(AGENT.replace("RESULT_ID", "call['id']"))).lanes[1]
    assert ([], "answer", None) == (mine.findings, mine.observed, mine.run.raised)
    assert [["messages[2]"]] == [[f"messages[{index}]" for index, _ in call.answers] for call in mine.calls]


def test_a_wrong_id_of_a_command_is_found(written: Written) -> None:
    """Calls and results are paired by what crossed the wire."""
    result = compared(written(AGENT.replace("RESULT_ID", "'call_x'")))
    assert {"unanswered-call", "orphan-result"} <= {one.kind for one in result.lanes[1].findings}
    assert result.surprises["mine"]


@pytest.mark.parametrize(
    ("program", "observed", "raised"),
    [
        ("raise SystemExit(3)", "crash", "exit status 3"),
        ("raise ValueError('no such thing')", "crash", "exit status 1: ValueError: no such thing"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crash", "ended by SIGSEGV"),
        ("print('done')", "connection-error", None),
        ("import sys; print('[stop] deadline', file=sys.stderr); sys.exit(17)", "connection-error", None),
    ],
)
def test_how_it_ends_without_a_word_to_the_model(
    written: Written, program: str, observed: str, raised: str | None
) -> None:
    """An exit status is a failure, unless the command says itself why it stopped."""
    result = compared(written(program)).lanes[1]
    assert observed == result.observed
    assert raised == (None if result.run.raised is None else str(result.run.raised))


@pytest.mark.parametrize(
    ("last", "claimed"),
    [
        ("[stop] round-limit", "round-limit"),
        ("[stop] round-limit: no more", "round-limit"),
        ("[stop] weary", None),
        ("answer", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("output", ["stdout", "stderr"])
def test_it_claims_only_what_its_last_line_says(written: Written, output: str, last: str, claimed: str | None) -> None:
    """In the form in which our own lanes say it at a terminal; an exit status claims nothing."""
    assert claimed == run(written(f"import sys; print('text\\n{last}\\n', file=sys.{output})")).stop


def test_a_claim_against_the_wire_is_found(written: Written) -> None:
    """As for any lane."""
    mine = compared(written(AGENT.replace("RESULT_ID", "call['id']") + "print('[stop] round-limit')")).lanes[1]
    assert ["claim-differs stop"] == [one.key for one in mine.findings]


def test_our_own_lane_runs_as_a_command(written: Written) -> None:
    """`python -m raw` says by its last line on standard error why it stopped; its exit status is no crash then."""
    command = f"{shlex.quote(sys.executable)} -m raw --max-rounds 8 {{prompt}}"
    mine = compared(command, "endless-caller").lanes[1]
    assert ("round-limit", "round-limit", None) == (mine.observed, mine.run.stop, mine.run.raised)


# --- what is kept of it ---


def test_the_report_keeps_how_it_ended_and_what_it_wrote(written: Written) -> None:
    """In the form that the schema describes; the key that it was given is masked."""
    program = written(
        "import os, sys; print(os.environ['OPENAI_API_KEY'], 'ü'); print('why', file=sys.stderr); sys.exit(4)"
    )
    data = json.loads(to_json(report([compared(program)])))
    jsonschema.validate(data, SCHEMA)
    function, command = data["comparisons"][0]["lanes"]
    assert (None, "CommandFailed: exit status 4: why") == (function["process"], command["raised"])
    assert {
        "status": 4,
        "late": False,
        "stdout": {"text": "*** ü\n", "left_out": 0},
        "stderr": {"text": "why\n", "left_out": 0},
    } == command["process"]
    assert API_KEY not in to_json(data)
    no_peak, peak = (one["peak"] for one in data["volatile"]["runs"])
    assert no_peak is None
    assert peak > 1_000_000


def test_of_a_long_output_the_end_is_kept(written: Written) -> None:
    """However much it writes; what is no UTF-8 is told by a sign."""
    ran = run(written("import sys; sys.stdout.buffer.write(b'a' * 3_000_000 + b'\\xff\\nend')")).process
    assert ran is not None
    assert (65536, (3_000_005 - 65536, 0)) == (len(ran.stdout), ran.left_out)
    assert ran.stdout.endswith("a\ufffd\nend")


def test_its_memory_is_measured_and_not_ours(written: Written) -> None:
    """What it takes is told in bytes, with its children's; what the judge takes is not counted."""
    before = bytearray(200_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > len(before)
    small = run(written("")).process
    big = run(
        written("import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(90_000_000)'])")
    ).process
    assert small is not None
    assert big is not None
    assert 1_000_000 < (small.peak or 0) < 60_000_000 < 90_000_000 < (big.peak or 0) < 150_000_000


# --- what is left of it ---


def test_a_hang_is_ended_at_the_deadline_with_its_children(written: Written, tmp_path: Path) -> None:
    """Also with a child of a child that does not listen to SIGTERM."""
    deaf = written(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(60)"
    )
    numbers = tmp_path / "numbers"
    child = written(
        "import os, pathlib, subprocess, time\n"
        f"deaf = subprocess.Popen({shlex.split(deaf)!r}, stdout=subprocess.PIPE)\n"
        "deaf.stdout.readline()\n"
        f"pathlib.Path({str(numbers)!r}).write_text(f'{{os.getpid()}} {{deaf.pid}}')\n"
        "time.sleep(60)"
    )
    started = time.perf_counter()
    ran = run(
        written(f"import subprocess; print('at work', flush=True); subprocess.run({shlex.split(child)!r})"),
        deadline=1.0,
    )
    assert time.perf_counter() - started < 5
    assert (True, None) == (ran.timed_out, ran.stop)
    assert "the lane did not end within 1 seconds" == str(ran.raised)
    assert ran.process is not None
    assert (-signal.SIGTERM, "at work\n") == (ran.process.status, ran.process.stdout)
    assert [True, True] == [gone(int(number)) for number in numbers.read_text(encoding="utf-8").split()]


def test_one_that_is_deaf_itself_is_killed(written: Written) -> None:
    """After two seconds of grace; then nobody can tell its status or its memory."""
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    ran = run(written(program), deadline=0.5).process
    assert ran is not None
    assert (None, None, "1\n", True) == (ran.status, ran.peak, ran.stdout, ran.late)


def test_children_left_behind_end_with_it(written: Written) -> None:
    """And do not hold the run up, though they hold its output open."""
    started = time.perf_counter()
    child = "import time; time.sleep(60)"
    program = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid)"
    assert gone(int(told(run(written(program)))))
    assert time.perf_counter() - started < 5


def test_a_child_in_a_session_of_its_own_holds_nobody_up(written: Written) -> None:
    """It has left, and its output is not waited for."""
    child = "import time; time.sleep(5)"
    program = (
        "import subprocess, sys\n"
        f"print(subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True).pid)"
    )
    started = time.perf_counter()
    number = int(told(run(written(program))))
    assert time.perf_counter() - started < 3
    os.kill(number, signal.SIGKILL)


def test_an_interruption_ends_it_too(written: Written, tmp_path: Path) -> None:
    """Ctrl-C reaches only us, as the command has a session of its own."""
    number = tmp_path / "number"
    program = written(
        f"import os, pathlib, time; pathlib.Path({str(number)!r}).write_text(str(os.getpid())); time.sleep(60)"
    )
    command = [sys.executable, "-m", "compare", "run", "one-call", "--lanes", "", "--lane", f"mine=cmd:{program}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as ran:
        while not (number.exists() and number.read_text(encoding="utf-8")):
            assert ran.poll() is None
            time.sleep(0.02)
        ran.send_signal(signal.SIGINT)
        assert ran.wait(10) == 130
    assert gone(int(number.read_text(encoding="utf-8")))


# --- how it is named ---


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("mine=node agent.js", "'mine=node agent.js' is no lane: write it as NAME=cmd:COMMAND, such as"),
        ("=cmd:true", "'=cmd:true' is no lane"),
        ("a b=cmd:true", "'a b=cmd:true' is no lane"),
        ("mine=cmd:", "lane mine: its command is empty; write one behind cmd:"),
        ("mine=cmd:sh -c 'x", "lane mine: its command cannot be split: No closing quotation; mend the quotes"),
        ("mine=cmd:no-such-program x", "lane mine: there is no program no-such-program; install it, or give its path"),
        ("mine=cmd:./plain.txt", "lane mine: ./plain.txt is not executable; run chmod +x ./plain.txt, or put"),
    ],
)
def test_a_command_that_cannot_be_had_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, said: str
) -> None:
    """With what is wrong and the mend, before anything runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.txt").write_text("", encoding="utf-8")
    with pytest.raises(LaneError) as caught:
        load_lanes(["raw", word])
    assert str(caught.value).startswith(said)
    assert 1 == len(str(caught.value).splitlines())


def test_a_program_that_its_system_refuses_is_a_result(tmp_path: Path) -> None:
    """It was found, and yet cannot be started."""
    program = tmp_path / "agent"
    program.write_text("#!/no/such/interpreter\n", encoding="utf-8")
    program.chmod(0o755)
    ran = run(str(program))
    assert CommandFailed is type(ran.raised)
    assert "it could not be started: No such file or directory" == str(ran.raised)


def test_a_prompt_that_no_command_line_can_hold_is_a_result(written: Written) -> None:
    """A NUL in a word of the command."""
    assert "it could not be started: embedded null byte" == str(
        run(f"{written('')} {{prompt}}", Task("a\0b", "m")).raised
    )


def test_functions_and_commands_come_in_order(written: Written) -> None:
    """The list first; a name may be there only once, and a list may be empty where a command is given."""
    command = f"mine=cmd:{written('')}"
    assert ["raw", "mine"] == [lane.name for lane in load_lanes(["raw", command])]
    assert ["mine"] == [lane.name for lane in load_lanes(["", command])]
    with pytest.raises(LaneError, match="a lane is named twice"):
        load_lanes(["raw", command, command])


def test_a_drill_takes_no_command(written: Written) -> None:
    """What it counts is which tools ran, and a command's cannot be seen."""
    word = f"mine=cmd:{written('')}"
    said = "lane mine: a command runs its tools where they cannot be watched; name a lane that is a function, as"
    with pytest.raises(LaneError, match=said):
        functions_only(load_lanes(["raw", word]))
    command = [sys.executable, "-m", "compare", "drill", "--lane", word]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (2, "") == (ran.returncode, ran.stdout)
    assert said in ran.stderr


def test_the_command_line_takes_several(written: Written) -> None:
    """Behind the lanes of the list, or alone."""
    agent = written(AGENT.replace("RESULT_ID", "call['id']"))
    more = ["--lane", f"a=cmd:{agent}", "--lane", f"b=cmd:{agent}"]
    command = [sys.executable, "-m", "compare", "run", "one-call", "--json", "-", "--lanes", "raw", *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (0, ["raw", "a", "b"]) == (ran.returncode, json.loads(ran.stdout)["lanes"])
    shown = subprocess.run([*command[:5], *command[7:]], capture_output=True, text=True, check=False).stdout
    assert "command   exit status 0; stdout ends: 400" in shown
