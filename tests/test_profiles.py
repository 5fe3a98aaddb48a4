"""What providers demand of a request: the rules as data, the check against them, and the server that enforces them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from compare.backends import script
from compare.comparison import compare_scenario
from compare.judge import judge
from compare.lanes import load_lanes
from compare.profiles import breaches, enforcing, find_profile, rules_of
from compare.report import report, to_json
from compare.scenario import ScenarioError, find, load
from compare.server import ModelServer
from compare.shape import SCHEMA
from protocol.checks import CHECKS
from protocol.profile import ProfileError, profile, profile_names, read_profile
from tests.evidence import USER, answering, asking, call, result, run_of, saying
from tests.servers import calls, says
from toolbox import CALCULATOR

THINKING = asking(call()) | {"reasoning_content": "One and one."}
SIGNATURE = {"google": {"thought_signature": "c2ln"}}
SIGNED = asking(call() | {"extra_content": SIGNATURE})
TOOLS = [CALCULATOR.schema()]
LONG, NINE = "c" * 41, "a1b2C3d4E"
BROKEN = call(arguments='{"expression": "1+')
STRICT = {
    "type": "object",
    "properties": {"to": {"type": "array", "items": {"type": "object", "additionalProperties": False}}},
    "required": ["to"],
    "additionalProperties": False,
}


def turn(message: dict[str, Any] | None = None, answer: dict[str, Any] | None = None) -> list[Any]:
    """A request that brings back a call with its result."""
    return [USER, message or asking(call()), answer or result()]


def under(call_id: Any) -> list[Any]:
    """The same, under an id."""
    return turn(asking(call(call_id)), result(call_id))


def named(name: Any) -> dict[str, Any]:
    """An envelope with one tool of this name."""
    return {"tools": [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}]}


def strict(schema: Any, says_so: bool = True) -> dict[str, Any]:
    """An envelope with one tool that has this schema, and says that it is strict."""
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": schema, "strict": says_so}}]}


Case = tuple[str, Any, Any, str]
CASES: list[Case] = [
    # rule, a request that keeps it, a request that breaks it (messages, or (messages, envelope, replies)), where
    ("openai:known-roles", [USER], [USER | {"role": "robot"}], "messages[0].role"),
    ("openai:content-type", [USER], [{"role": "user", "content": None}], "messages[0].content"),
    ("openai:call-shape", turn(), under(None), "messages[1].tool_calls[0].id"),
    ("openai:no-empty-tool-calls", [answering()], [answering() | {"tool_calls": []}], "messages[0].tool_calls"),
    ("openai:every-call-answered", turn(), turn()[:2], "messages[1].tool_calls[0]"),
    ("openai:no-orphan-result", turn(), [USER, result()], "messages[1]"),
    (
        "openai:parallel-needs-tools",
        ([USER], {"model": "m", "tools": TOOLS, "parallel_tool_calls": False}, []),
        ([USER], {"model": "m", "parallel_tool_calls": False}, []),
        "parallel_tool_calls",
    ),
    ("openai:no-empty-tools", ([USER], {"model": "m", "tools": TOOLS}, []), ([USER], {"tools": []}, []), "tools"),
    ("openai:tool-names", ([USER], named("a-1_B"), []), ([USER], named("my tool.v1/é"), []), "tools[0].function.name"),
    ("openai:tool-names", ([USER], named("a" * 64), []), ([USER], named("a" * 65), []), "tools[0].function.name"),
    ("openai:request-shape", [USER], [USER | {"name": 3}], "messages[0].name"),
    ("openai-old:id-length", under(LONG[1:]), under(LONG), "messages[1].tool_calls[0].id"),
    (
        "openai-strict-schema:strict-schema",
        ([USER], strict(STRICT), []),
        ([USER], strict({**STRICT, "required": []}), []),
        "tools[0].function.parameters.required",
    ),
    (
        "openai-strict-schema:strict-schema",
        ([USER], strict({"type": "object"}, says_so=False), []),
        ([USER], strict({**STRICT, "properties": {"to": {"anyOf": [{"type": "object"}]}}}), []),
        "tools[0].function.parameters.properties.to.anyOf[0].additionalProperties",
    ),
    ("deepseek:no-content-parts", [answering(None)], [result(content=[{"type": "text"}])], "messages[0].content"),
    ("deepseek:no-empty-tool-calls", [answering()], [answering() | {"tool_calls": []}], "messages[0].tool_calls"),
    (
        "deepseek-thinking:reasoning-comes-back",
        (turn(THINKING), None, [THINKING]),
        (turn(), None, [THINKING]),
        "messages[1].reasoning_content",
    ),
    (  # nothing came, so nothing is missing; and without calls it is not asked for
        "deepseek-thinking:reasoning-comes-back",
        ([*turn(), answering()], None, [asking(call()), answering() | {"reasoning_content": "Two."}]),
        (turn(asking(call()) | {"reasoning_content": None}), None, [THINKING]),
        "messages[1].reasoning_content",
    ),
    ("mistral:nine-character-ids", under(NINE), under("call_1"), "messages[1].tool_calls[0].id"),
    ("mistral:nine-character-ids", under(NINE), turn(asking(call(NINE)), result("call_1")), "messages[2].tool_call_id"),
    ("mistral:content-or-calls", [answering(), asking(call(NINE))], [answering("")], "messages[0].content"),
    ("mistral:every-call-answered", under(NINE), under(NINE)[:2], "messages[1].tool_calls[0]"),
    ("mistral:no-orphan-result", under(NINE), [USER, result(NINE)], "messages[1]"),
    ("mistral:tool-names", ([USER], named("f"), []), ([USER], named(""), []), "tools[0].function.name"),
    (
        "gemini-compat:signature-comes-back",
        (turn(SIGNED), None, [SIGNED]),
        (turn(), None, [SIGNED]),
        "messages[1].tool_calls[0].extra_content.google.thought_signature",
    ),
    ("gemini-compat:tool-message-name", [result() | {"name": "calculator"}], [result()], "messages[0].name"),
    ("bedrock-compat:no-empty-text", turn(), turn(asking(call()) | {"content": ""}), "messages[1].content"),
    (
        "bedrock-compat:no-empty-text",
        [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
        [{"role": "user", "content": [{"type": "text", "text": ""}]}],
        "messages[0].content[0].text",
    ),
    ("vllm:arguments-parse", turn(), turn(asking(BROKEN)), "messages[1].tool_calls[0].function.arguments"),
    ("llama.cpp:arguments-parse", turn(), under("c")[:1] + turn(asking(call(arguments="")))[1:],
     "messages[1].tool_calls[0].function.arguments"),
    ("llama.cpp:ids-not-null", turn(asking({"type": "function"})), under(None), "messages[1].tool_calls[0].id"),
    ("llama.cpp:last-calls-answered", [*turn()[:2], USER], turn()[:2], "messages[1].tool_calls"),
    ("ollama:arguments-parse", turn(), turn(asking(BROKEN)), "messages[1].tool_calls[0].function.arguments"),
    ("ollama:content-type", turn(), [answering(None)], "messages[0].content"),
    ("strict-keys:no-stream-options", ([USER], {"stream": True}, []),
     ([USER], {"stream_options": {"include_usage": True}}, []), "stream_options"),
    ("strict-keys:max-tokens", ([USER], {"max_tokens": 5}, []), ([USER], {"max_completion_tokens": 5}, []),
     "max_completion_tokens"),
    ("strict-keys:no-developer-role", [{"role": "system", "content": "x"}], [{"role": "developer", "content": "x"}],
     "messages[0].role"),
]  # fmt: skip


def broken(rule: str, request: Any) -> list[str]:
    """The paths at which a request breaks the rule."""
    messages, envelope, heard = request if isinstance(request, tuple) else (request, None, [])
    of_profile = rules_of(profile(rule.split(":")[0]))
    return [breach.path for breach in breaches(messages, of_profile, 0, envelope, heard) if breach.rule.name == rule]


@pytest.mark.parametrize(("rule", "kept", "breaking", "path"), CASES)
def test_a_rule_is_kept_or_broken(rule: str, kept: Any, breaking: Any, path: str) -> None:
    """Each rule passes what it must, and names the place of what it refuses."""
    assert [] == broken(rule, kept)
    assert path == broken(rule, breaking)[0]


def test_no_rule_lacks_a_case() -> None:
    """A rule that nothing breaks here would be a promise without proof; so would a check that no rule names."""
    assert {rule.name for name in profile_names() for rule in rules_of(profile(name))} == {case[0] for case in CASES}
    texts = "".join(
        path.read_text(encoding="utf-8") for path in Path(SCHEMA.parents[1]).glob("src/protocol/profiles/*")
    )
    assert [name for name in CHECKS if f'check = "{name}"' not in texts] == []


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_says_where_its_rules_are_from(name: str) -> None:
    """Source, date, demand and status of each, and a title."""
    one = profile(name)
    assert one.title
    assert rules_of(one)
    for rule in rules_of(one):
        assert rule.source
        assert rule.demands
        assert rule.since >= "2023"
        assert 400 <= rule.status < 600


def test_what_was_checked_before_is_not_looked_at_again() -> None:
    """The judge goes through a long conversation once, not once for each request."""
    rules = profile("mistral").rules
    messages = [*under("call_1"), *under("call_2")[1:]]
    ids = [breach.path for breach in breaches(messages, rules, 3) if breach.rule.id == "nine-character-ids"]
    assert ids == ["messages[3].tool_calls[0].id", "messages[4].tool_call_id"]


def test_an_id_that_is_used_again_belongs_to_its_own_turn() -> None:
    """Reasoning is missed in the turn that lost it, not in the turn that had none."""
    rules = profile("deepseek-thinking").rules
    messages = [*turn(), *turn()[1:]]
    for heard, path in (([THINKING, asking(call())], 1), ([asking(call()), THINKING], 3)):
        lost = [breach.path for breach in breaches(messages, rules, 0, None, heard)]
        assert lost == [f"messages[{path}].reasoning_content"]


MINE = """
title = "A gateway of ours"
extends = "openai"
error = '{"detail": {"code": "{code}", "at": "{path}", "status": "{status}", "words": ["{message}"]}}'

[[rule]]
id = "short-ids"
demands = "ids have at most 3 characters"
status = 418
code = "E7"
says = "id too long"
source = "our own server"
since = "2026"
check = "ids-match"
max_length = 3
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A profile of one's own."""
    path = tmp_path / "mine.toml"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_a_profile_of_ones_own_is_a_file(mine: Path) -> None:
    """Its rules come behind those that it takes over, and its errors have its form."""
    one = find_profile(str(mine))
    assert [rule.name for rule in one.rules] == [*(rule.name for rule in profile("openai").rules), "mine:short-ids"]
    with ModelServer(enforcing(script([says()], "m"), one)) as server:
        reply = httpx.post(f"{server.base_url}/chat/completions", json={"model": "m", "messages": under("call_1")})
    at, text = "messages[1].tool_calls[0].id", "6 characters"
    detail = {"code": "E7", "at": at, "status": 418, "words": [f"id too long ({at}: {text})"]}
    assert (reply.status_code, reply.json()) == (418, {"detail": detail})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("title", "titel"), "'titel' is not a key of a profile"),
        (lambda text: text.replace('title = "A gateway of ours"', ""), "'title' is missing"),
        (lambda text: text.replace('"openai"', '"opnai"'), "no profile is named 'opnai'; the profiles are bedrock"),
        (lambda text: text.replace('"openai"', "3"), "'extends' must be of type str"),
        (lambda text: text.replace("{\"detail\"", "{detail"), "'error' is not JSON"),
        (lambda text: text.replace("[[rule]]", "[rule]"), "'rule' must be of type list"),
        (lambda text: text.replace('"short-ids"', '"known-roles"'), "two rules have one id"),
        (lambda text: text.replace('source = "our own server"', ""), "rule 'short-ids': 'source' is missing"),
        (lambda text: text.replace("418", "200"), "status is 200"),
        (lambda text: text.replace("418", '"418"'), "'status' must be of type int"),
        (lambda text: text.replace('"2026"', '"lately"'), "'since' must be a date"),
        (lambda text: text.replace('"ids-match"', '"ids"'), "'ids' is no check; the checks are known-roles"),
        (lambda text: text.replace("max_length", "max_lenght"), "check ids-match: got an unexpected keyword"),
        (lambda text: text.replace("= 3", '= "3"'), "'max_length' must be of type int"),
        (lambda text: text + 'pattern = "("', "'pattern' is no regular expression"),
        (lambda text: text + "=", "cannot be read"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_refused_with_the_place(mine: Path, change: Callable[[str], str], told: str) -> None:
    """In one line, with the file and the mend."""
    mine.write_text(change(MINE), encoding="utf-8")
    with pytest.raises(ProfileError, match=r"^[^\n]*$") as error:
        read_profile(mine)
    assert told in str(error.value)


def diptych(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    command = [sys.executable, "-m", "compare", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_command_line_takes_a_name_or_a_file(mine: Path) -> None:
    """Nothing is expected of a lane that is refused, so the exit code is 0; the report says who refused."""
    ran = diptych("run", "one-call", "--lanes", "raw", "--profile", str(mine))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "as mine: a request that breaks one of its rules is refused" in ran.stdout
    assert "rule mine:short-ids" in ran.stdout
    ran = diptych("ask", "1+1", "--lanes", "raw", "--profile", "gemini-compat", "--json", "-")
    (one,) = json.loads(ran.stdout)["comparisons"]
    assert (ran.returncode, one["profile"], one["lanes"][0]["exchanges"][-1]["status"]) == (0, "gemini-compat", 400)
    ran = diptych("run", "one-call", "--profile", "opnai")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "the profiles are" in ran.stderr


def test_the_report_says_who_else_would_refuse() -> None:
    """In the findings of each lane, one line for all profiles."""
    ran = diptych("run", "one-call", "--lanes", "raw")
    said = " ".join(ran.stdout.split())
    assert "would be refused by: gemini-compat (tool-message-name at messages[2].name), mistral (nine" in said


def test_profiles_are_listed_with_their_sources() -> None:
    """Each rule with its status, its source and the date of that."""
    ran = diptych("profiles")
    assert ran.returncode == 0
    for name in profile_names():
        assert f"{name}: {profile(name).title}" in ran.stdout
    assert "    no-content-parts (422): content is text or null" in ran.stdout
    assert "        n8n-io/n8n#14574; BerriAI/litellm#6642 (2024-11-07)" in ran.stdout


def test_a_word_that_is_no_profile_is_told_the_names() -> None:
    """Neither a name nor a file."""
    with pytest.raises(ProfileError, match=r"no profile is named 'opnai'; the profiles are .*openai"):
        find_profile("opnai")


REASONING = (([USER], saying(THINKING, "tool_calls")), (turn(), saying(answering())))


def test_other_providers_are_told_by_their_first_breach() -> None:
    """One line for each that would refuse; OpenAI's rules are findings, and do not count for those that share them."""
    judged = judge(run_of(*REASONING))
    assert judged.refused_by == {
        "deepseek-thinking": "reasoning-comes-back at messages[1].reasoning_content",
        "gemini-compat": "tool-message-name at messages[2].name",
        "mistral": "nine-character-ids at messages[1].tool_calls[0].id",
    }
    open_call = judge(run_of(([USER], saying(asking(call()))), (turn()[:2], saying(answering()))))
    assert "openai-old" not in open_call.refused_by
    assert "would-be-refused" in {finding.kind for finding in open_call.findings}


def test_the_breaches_of_a_named_profile_are_findings() -> None:
    """Each with its rule and place, in the request that shows it first."""
    judged = judge(run_of(*REASONING, ([*turn(), answering(), USER], saying(answering()))), None,
                   [profile("deepseek-thinking")])  # fmt: skip
    refused = [finding for finding in judged.findings if finding.kind == "would-be-refused"]
    assert [(one.rule, one.path, one.request) for one in refused] == [
        ("deepseek-thinking:reasoning-comes-back", "messages[1].reasoning_content", 2)
    ]
    assert "deepseek-thinking answers 400" in refused[0].note
    assert "deepseek-thinking" not in judged.refused_by


def test_a_scenario_names_profiles(tmp_path: Path) -> None:
    """Their breaches then are findings, which it expects as any other; a name that is none is refused."""
    text = find("reasoning-content-lost")[0].path.read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("stands_for", 'profiles = ["deepseek-thinking"]\nstands_for', 1), encoding="utf-8")
    (surprises,) = compare_scenario(load(path), load_lanes("lc")).surprises.values()
    refused = "would-be-refused messages[1].reasoning_content deepseek-thinking:reasoning-comes-back"
    assert surprises == [f"not expected: {refused}"]
    path.write_text(text.replace("stands_for", 'profiles = ["deepsek"]\nstands_for', 1), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"'deepsek'.*deepseek-thinking"):
        load(path)


def test_the_server_answers_as_the_provider_would() -> None:
    """R0: the loop by hand brings the reasoning back and goes on; the graph loses it and is refused."""
    scenario = find("reasoning-content-lost")[0]
    compared = compare_scenario(scenario, load_lanes("raw,lc"), enforced=profile("deepseek-thinking"))
    raw, lc = compared.lanes
    assert [exchange.reply.status for exchange in raw.run.exchanges] == [200, 200]
    assert [exchange.reply.status for exchange in lc.run.exchanges] == [200, 400]
    assert "reasoning_content" in json.loads(lc.run.exchanges[1].reply.body)["error"]["message"]
    assert (raw.observed, lc.observed) == ("answer", "http-error")
    assert (compared.expected, compared.profile) == (False, "deepseek-thinking")
    data = json.loads(to_json(report([compared])))
    schema = json.loads((SCHEMA.parent / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    assert data["comparisons"][0]["profile"] == "deepseek-thinking"
    assert data["comparisons"][0]["lanes"][0]["refused_by"] == raw.refused_by
    assert data["summary"]["unexpected"] == 0


def test_a_refusal_uses_up_no_reply() -> None:
    """Whoever mends the request gets the reply that it was for."""
    replies = [calls(("call_1", "calculator", "{}"), reasoning_content="x"), says("12")]
    kept = json.loads(replies[0].message)
    lost = {key: value for key, value in kept.items() if key != "reasoning_content"}
    with ModelServer(enforcing(script(replies, "m"), profile("deepseek-thinking"))) as server:
        statuses, answer = [], None
        for messages in ([USER], turn(lost), turn(kept)):
            answer = httpx.post(f"{server.base_url}/chat/completions", json={"model": "m", "messages": messages})
            statuses.append(answer.status_code)
    assert statuses == [200, 400, 200]
    assert answer is not None
    assert answer.json()["choices"][0]["message"]["content"] == "12"


@pytest.mark.parametrize(
    ("name", "messages", "form"),
    [
        ("mistral", under("call_1"), {"object": "error", "code": "3280", "param": None}),
        ("llama.cpp", under(None), {"error": {"code": 500, "type": "server_error"}}),
        ("vllm", turn(asking(BROKEN)), {"error": {"code": None, "type": "invalid_request_error"}}),
    ],
)
def test_an_error_has_the_providers_form(name: str, messages: list[Any], form: dict[str, Any]) -> None:
    """Status and body, as far as they are known; else OpenAI's form."""
    with ModelServer(enforcing(script([says()], "m"), profile(name))) as server:
        reply = httpx.post(f"{server.base_url}/chat/completions", json={"model": "m", "messages": messages})
    assert reply.status_code == (500 if name == "llama.cpp" else 400)
    body = reply.json()
    for key, value in form.items():
        inner = {part: body[key][part] for part in value} if isinstance(value, dict) else body[key]
        assert inner == value
