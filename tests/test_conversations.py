"""Several conversations on one server are told apart, and the script begins anew with each."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from compare.backends import script
from compare.conversations import Conversations
from compare.judge import judge
from compare.replies import Scripted, Sending
from compare.runner import Task
from compare.serve import foreign_run
from compare.server import ModelServer
from protocol.profile import Profile, profile
from tests.servers import calls, fails, says

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "What is 3*4?"}
CALL = calls(("call_1", "calculator", '{"expression": "3*4"}'))
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "12"}
SCRIPT = (CALL, says("12"))


class Talks:
    """A server with a script, and a client of it."""

    def __init__(self, conversations: Conversations, http: httpx.Client, scripted: int) -> None:
        self.conversations, self.http, self.scripted = conversations, http, scripted

    def ask(self, *messages: Any, **more: Any) -> Any:
        """Send a request; returns the message of the reply, or None."""
        response = self.http.post("chat/completions", json={"model": "m", "messages": messages, **more})
        return response.json().get("choices", [{"message": None}])[0]["message"]

    def found(self) -> list[list[str]]:
        """The keys of the findings in each conversation."""
        groups = self.conversations.exchanges_of_each()
        runs = [foreign_run("client", Task("", "m"), group, 0.0, 0) for group in groups]
        return [[finding.key for finding in judge(run, self.scripted).findings] for run in runs]


@contextmanager
def talking(*scripted: Scripted, enforced: Profile | None = None) -> Iterator[Talks]:
    """A server with this script."""
    conversations = Conversations(lambda: script(scripted, "m"), enforced)
    with ModelServer(conversations.answer, "m") as server:
        conversations.exchanges = server.exchanges
        with httpx.Client(base_url=server.base_url) as http:
            yield Talks(conversations, http, len(scripted))


def test_one_conversation_after_the_other_is_judged_on_its_own() -> None:
    """The same prompt again begins anew where the request before did not fail."""
    with talking(*SCRIPT) as talks:
        for _ in range(3):
            asked = talks.ask(USER)
            assert "12" == talks.ask(USER, asked, RESULT)["content"]
        assert [[], [], []] == talks.found()


@pytest.mark.parametrize("prompts", [("What is 3*4?", "And 5*6?"), ("What is 3*4?", "What is 3*4?")])
def test_conversations_may_be_interleaved(prompts: tuple[str, str]) -> None:
    """Also two that say the same: each gets the whole script."""
    with talking(*SCRIPT) as talks:
        users = [{"role": "user", "content": prompt} for prompt in prompts]
        asked = [talks.ask(user) for user in users]
        last = [talks.ask(user, one, RESULT)["content"] for user, one in zip(users, asked, strict=True)]
        assert ["12", "12"] == last
        assert [[], []] == talks.found()
        assert {1: (1, 1), 2: (2, 1)} == {key: talks.conversations.places[key] for key in (1, 2)}


def test_a_request_repeated_after_a_failure_is_an_attempt_more() -> None:
    """It belongs to the conversation that failed, and uses up the next reply."""
    with talking(fails(500), says("12")) as talks:
        talks.ask(USER)
        assert "12" == talks.ask(USER)["content"]
        assert [["extra-attempt request 2"]] == talks.found()


def test_a_request_repeated_by_a_client_that_did_not_wait_is_an_attempt_more() -> None:
    """A reply that drips too slowly for the client is one that failed."""
    slow = replace(says("too slow"), sending=Sending(drip=5.0))
    with talking(slow, says("12")) as talks:
        with pytest.raises(httpx.ReadTimeout):
            talks.http.post("chat/completions", json={"model": "m", "messages": [USER], "stream": True}, timeout=0.3)
        time.sleep(0.1)
        assert "12" == talks.ask(USER)["content"]
        assert 1 == len(talks.found())


def test_a_history_that_is_rewritten_is_no_new_conversation() -> None:
    """It names a call of the old one, and what it lost is found."""
    with talking(*SCRIPT) as talks:
        asked = talks.ask(SYSTEM, USER)
        assert "12" == talks.ask(USER, asked, RESULT)["content"]
        assert [["lost-field messages[0]"]] == talks.found()


def test_the_same_results_sent_again_go_beyond_the_script() -> None:
    """They answer a call of the conversation, so they are none of a new one."""
    with talking(*SCRIPT) as talks:
        asked = talks.ask(USER)
        talks.ask(USER, asked, RESULT)
        assert talks.ask(USER, asked, RESULT) is None
        assert 1 == len(talks.found())
        assert "beyond-script request 3" in talks.found()[0]


def test_requests_are_counted_from_1_in_each_conversation() -> None:
    """And one that was not for the model goes with the one before it."""
    with talking(*SCRIPT) as talks:
        talks.ask(USER)
        talks.ask(USER)
        talks.http.post("embeddings", json={})
        groups = talks.conversations.exchanges_of_each()
    assert [[1], [1, 2]] == [[exchange.request.number for exchange in group] for group in groups]
    assert [[True], [True, False]] == [[exchange.for_model for exchange in group] for group in groups]
    assert [USER] == json.loads(groups[1][0].request.body.raw())["messages"]


def test_without_a_request_there_is_one_conversation() -> None:
    """In which nothing was asked."""
    with talking(*SCRIPT) as talks:
        assert [["unused-reply reply 1", "unused-reply reply 2"]] == talks.found()


def test_what_an_enforced_profile_refuses_uses_up_no_reply() -> None:
    """Its place says so, and the conversation goes on when it is mended."""
    with talking(*SCRIPT, enforced=profile("openai")) as talks:
        asked = talks.ask(USER)
        assert talks.ask(USER, asked) is None
        assert "12" == talks.ask(USER, asked, RESULT)["content"]
        assert {1: (1, 1), 2: (1, 0), 3: (1, 2)} == talks.conversations.places
