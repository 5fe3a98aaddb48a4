"""What a command needs of its process: an environment that keeps to this machine, clean output, and an exit code."""

import contextlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import click

AS_EXPECTED, SURPRISED, WRONG_USE, INCOMPLETE, OUR_FAULT, INTERRUPTED = 0, 1, 2, 3, 70, 130

LOOPBACK = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "LANGSMITH_TRACING": "false"}
"""What is set while lanes run."""
FOREIGN = ("LANGCHAIN_", "LANGSMITH_", "OPENAI_", "SSL_CERT_")
"""Beginnings of variables that are taken away while lanes run: they upload traces, add headers, change the lanes."""


@contextlib.contextmanager
def loopback_only() -> Iterator[None]:
    """Keep the lanes on this machine, and to what they are given: no proxy, no upload of traces, no foreign keys."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(FOREIGN) or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ.update(LOOPBACK)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def lanes_at_work() -> Iterator[None]:
    """Around everything that runs lanes: loopback only, and what a lane prints does not get into the report."""
    with loopback_only(), contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
        # The SDK says so of replies with a value of another type; those of the scenarios have it on purpose.
        warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
        yield


def finish(command: Callable[[], Any]) -> NoReturn:
    """Run a command and end the process with its exit code.

    At once, without the interpreter's own farewell: a lane that was interrupted or hangs may still have threads, and
    Python aborts when it meets them at its end.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 # it stays open to the end
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that temporary folders go then, too
    code = guarded(command)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(code)


def guarded(command: Callable[[], Any]) -> int:
    """The exit code of a command, whatever happens in it; bad input is one line on standard error."""
    from compare.lanes import LaneError
    from compare.recording.error import RecordingError
    from compare.scenario import ScenarioError
    from protocol.profile import ProfileError

    try:
        code = command()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        tell(told_in_a_line(error))
        return WRONG_USE
    except BrokenPipeError:  # the reader of our output has left, as head does
        return AS_EXPECTED
    except (LaneError, ProfileError, RecordingError, ScenarioError) as error:
        tell(str(error))
        return WRONG_USE
    except OSError as error:
        tell(str(error) if error.filename is None else f"{error.filename}: cannot be opened: {error.strerror}")
        return WRONG_USE
    except (KeyboardInterrupt, click.Abort):
        tell("interrupted")
        return INTERRUPTED
    except Exception:  # noqa: BLE001 # the last net: a fault of ours must not look like a difference
        tell(f"a fault of Diptych's own, please report it:\n{traceback.format_exc()}")
        return OUR_FAULT
    return code if isinstance(code, int) else AS_EXPECTED


def told_in_a_line(error: click.ClickException) -> str:
    """Click's own complaint without its lines on usage, which `--help` has."""
    text = " ".join(error.format_message().split())
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return text
    return f"{text.rstrip('.')}; '{error.ctx.command_path} --help' lists what there is"


def tell(text: str) -> None:
    """Write to standard error why a command ends, if that can be written to: the exit code says it, too."""
    with contextlib.suppress(OSError):
        click.echo(f"diptych: {without_keys(text)}", err=True)


def without_keys(text: str) -> str:
    """A text for standard error without what the environment has of keys, and without what looks like one."""
    from compare.secrets import Masker, keys_in

    return Masker(keys_in(os.environ)).text(text)
