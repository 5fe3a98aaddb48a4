"""A tool's exception is known again, in whatever a loop makes of it."""

import inspect

import pytest

from tests.servers import broken_tool, echo_tool
from toolbox.escaped import came_of, noting

FAULT = ZeroDivisionError("division by zero")


def chained(*, cause: bool) -> BaseException:
    """An error raised from the fault, or while it was handled."""
    try:
        try:
            raise FAULT
        except ZeroDivisionError as error:
            if cause:
                raise RuntimeError("the node failed") from error
            raise RuntimeError("the node failed")  # noqa: B904 # the case in point
    except RuntimeError as error:
        return error


def test_what_a_tool_raises_is_noted_and_still_raised() -> None:
    """The very object, so that nothing else is taken for it."""
    raised: list[BaseException] = []
    with pytest.raises(ZeroDivisionError):
        noting(broken_tool(FAULT), raised).function()
    assert [FAULT] == raised


def test_arguments_that_do_not_fit_are_the_loops_fault() -> None:
    """The tool did not run, so it raised nothing; and its signature is there to be looked at."""
    raised: list[BaseException] = []
    tool = noting(echo_tool(), raised)
    with pytest.raises(TypeError):
        tool.function(words="hello")
    assert [] == raised
    assert ["text"] == list(inspect.signature(tool.function).parameters)
    assert "hello" == tool.function(text="hello")


def test_an_error_comes_of_what_it_wraps() -> None:
    """Directly, as its cause or in its context; an error that is only equal is another one."""
    assert came_of(FAULT, [FAULT])
    assert came_of(chained(cause=True), [FAULT])
    assert came_of(chained(cause=False), [FAULT])
    assert not came_of(ZeroDivisionError("division by zero"), [FAULT])
    assert not came_of(FAULT, [])
    assert not came_of(None, [FAULT])


def test_a_chain_that_is_a_ring_has_an_end() -> None:
    """Somebody's code can tie one."""
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert not came_of(one, [FAULT])
