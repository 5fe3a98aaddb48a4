"""Provider profiles as the judge uses them: what would be refused, and a backend that refuses as the provider does."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from compare.heard import heard_to_the_end
from compare.replies import Reply, compact
from compare.server import Backend, Request
from compare.shape import REQUEST_SHAPE, without_doubles
from compare.turns import Conversation
from protocol import Message
from protocol.profile import Profile, profile, profile_names, read_profile
from protocol.rules import Breach, Rule, check, last_turn

DEFAULT = "openai"
"""The profile whose breaches are findings in every run."""


def find_profile(argument: str) -> Profile:
    """The profile that a word on the command line means: a name, else a TOML file. Raises ProfileError."""
    if argument in profile_names() or not Path(argument).exists():
        return profile(argument)
    return read_profile(Path(argument))


def rules_of(one: Profile) -> tuple[Rule, ...]:
    """All rules of a profile; those of OpenAI's family have the shape of the request among them."""
    family = any(rule.provider == DEFAULT for rule in one.rules)
    return (*one.rules, REQUEST_SHAPE) if family else one.rules


def refusals(told: Conversation, named: Sequence[Profile] = ()) -> tuple[list[tuple[int, Breach]], dict[str, str]]:
    """What providers would refuse of a conversation.

    First each breach of OpenAI's rules and those of the `named` profiles, once, with the number of the request that
    shows it first. Then, for every other profile that comes with the project, its first breach as
    "rule at path"; rules of the first kind, which some profiles share, do not count for it.
    """
    wanted = {rule for one in (profile(DEFAULT), *named) for rule in rules_of(one)}
    others = {name: set(rules_of(profile(name))) - wanted for name in profile_names()}
    rules = tuple(dict.fromkeys(rule for one in (*named, *map(profile, profile_names())) for rule in rules_of(one)))
    found: dict[tuple[Rule, str], tuple[int, Breach]] = {}
    refused_by: dict[str, str] = {}
    for number, breach in all_breaches(told, rules):
        if breach.rule in wanted:
            found.setdefault((breach.rule, breach.path), (number, breach))
        for name in others:
            if breach.rule in others[name]:
                refused_by.setdefault(name, f"{breach.rule.id} at {breach.path}")
    return list(found.values()), dict(sorted(refused_by.items()))


def all_breaches(told: Conversation, rules: Sequence[Rule]) -> list[tuple[int, Breach]]:
    """The breaches of each request, with its number. Of a history that goes on, only what is new is looked at."""
    found = []
    messages: list[Any] = []
    replies: list[Message] = []
    seen: list[Any] = []
    for turn in told.turns:
        del messages[turn.start :]
        start = last_turn(messages)
        messages += turn.sent
        envelope = turn.attempts[0].request.body.envelope
        new = None if any(envelope is one for one in seen) else envelope
        seen += [] if new is None else [new]
        found += [(turn.number, breach) for breach in breaches(messages, rules, start, new, replies)]
        if turn.reply is not None:
            replies.append(turn.reply)
    return found


def breaches(
    messages: list[Any],
    rules: Sequence[Rule],
    start: int = 0,
    envelope: dict[str, Any] | None = None,
    replies: Sequence[Message] = (),
) -> list[Breach]:
    """As `protocol.rules.check`, with the shape of the request told only where no other rule tells the same."""
    return without_doubles(check(messages, rules, start, envelope, replies))


def enforcing(backend: Backend, one: Profile) -> Backend:
    """A backend that answers as the provider would: a request that breaks a rule gets its error, any other goes on.

    A refused request is not passed on, so that it uses up no reply of a script. Made for one run: it remembers what
    the model replied.
    """
    rules, replies = rules_of(one), list[Message]()

    def answer(request: Request) -> Reply:
        refused = breaches(request.body.messages(), rules, 0, request.body.envelope, replies)
        if refused:
            return refusal(refused[0], one.error)
        reply = backend(request)
        said = heard_to_the_end(request, reply).message
        replies.extend([] if said is None else [said])
        return reply

    return answer


def refusal(breach: Breach, form: Any) -> Reply:
    """The error by which the provider answers the breach, its body in the provider's form."""
    rule = breach.rule
    values = {"{message}": breach.message, "{path}": breach.path, "{code}": rule.code or None, "{status}": rule.status}
    return Reply(rule.status, (("Content-Type", "application/json"),), compact(filled(form, values)).encode())


def filled(form: Any, values: dict[str, Any]) -> Any:
    """The form with its placeholders replaced."""
    if isinstance(form, dict):
        return {key: filled(inner, values) for key, inner in form.items()}
    if isinstance(form, list):
        return [filled(inner, values) for inner in form]
    return values.get(form, form) if isinstance(form, str) else form


def describe() -> Iterator[str]:
    """Lines on all profiles: the rules of each, with where each is known from and the date of that."""
    for one in map(profile, profile_names()):
        yield f"{one.name}: {one.title}" + (f" (all of {one.extends}, and more)" if one.extends else "")
        for rule in rules_of(one):
            if rule.provider == one.name:
                yield f"    {rule.id} ({rule.status}): {rule.demands}"
                yield f"        {rule.source} ({rule.since})"
