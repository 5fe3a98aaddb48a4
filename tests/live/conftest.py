"""A real model on this machine, or the reason why there is none."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVE = os.environ.get("DIPTYCH_LOCAL_MODEL_SERVER") or str(ROOT.parent / "shared" / "local-model" / "serve.py")
PYTHON = os.environ.get("DIPTYCH_LOCAL_MODEL_PYTHON") or str(Path.home() / "local-model" / "bin" / "python")
"""Where the local model is looked for; both variables may name another place."""


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Only who names this folder runs these tests: they take minutes, and are no part of `make test`."""
    named = any("tests/live" in str(argument) for argument in config.invocation_params.args)
    return None if named else True


@pytest.fixture(scope="session")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an endpoint: DIPTYCH_LIVE_BASE_URL, or a local model server that is started for it."""
    if given := os.environ.get("DIPTYCH_LIVE_BASE_URL"):
        yield given
        return
    for name, path in (("DIPTYCH_LOCAL_MODEL_SERVER", SERVE), ("DIPTYCH_LOCAL_MODEL_PYTHON", PYTHON)):
        if not Path(path).exists():
            pytest.skip(f"no local model: {path} is not there; set {name}, or DIPTYCH_LIVE_BASE_URL to any endpoint")
    log = tmp_path_factory.mktemp("server") / "log"
    with (
        log.open("w") as told,
        subprocess.Popen([PYTHON, SERVE], stdout=subprocess.PIPE, stderr=told, text=True) as server,
    ):
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line.startswith("BASE_URL="):
            server.kill()
            pytest.skip(f"the local model server did not start: {log.read_text()[-500:]}")
        yield line.strip().removeprefix("BASE_URL=")
        server.send_signal(signal.SIGTERM)
