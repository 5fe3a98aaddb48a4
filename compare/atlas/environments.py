"""Environments with other versions of the packages behind a lane, made with uv and kept for the next time."""

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from compare.lanes import LaneError, one_line
from compare.scenario import Scenario

BASE = ("click", "fastjsonschema", "h11", "httpx", "jsonschema", "rich")
"""What the judge and the lane by hand need."""
OURS = ("compare", "lanes", "lc", "protocol", "raw", "toolbox")
SAID = 600
"""Characters of uv's own words that an error quotes."""


def cache_folder() -> Path:
    """Where environments are kept: in the user's cache folder."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "diptych" / "atlas"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "diptych" / "atlas"


def make(requirements: Sequence[str], packages: Sequence[str]) -> Path:
    """The interpreter of an environment with these requirements, and with `packages` as they are here if that can be.

    An environment that was made before is taken again, without the network. Raises LaneError where there is no uv, or
    it fails.
    """
    here = sorted({f"{one.name}=={one.version}" for one in distributions() if one.name != "diptych"})
    wanted = [*requirements, *sorted({*BASE, *packages})]
    what = json.dumps([platform.python_version(), wanted, here])
    folder = cache_folder() / hashlib.sha256(what.encode()).hexdigest()[:16]
    python = folder / "venv" / "bin" / "python"
    done = folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder / "lock.txt"
        # uv keeps to the versions that a lock names already, as far as the requirements let it.
        lock.write_text("\n".join(here) + "\n", encoding="utf-8")
        plain = ["--quiet", "--no-header", "--no-annotate"]
        for arguments in (
            ["pip", "compile", *plain, "--python", sys.executable, "--output-file", str(lock), "-"],
            ["venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder / "venv")],
            ["pip", "sync", "--quiet", "--python", str(python), str(lock)],
        ):
            said = uv(arguments, "\n".join(wanted))
            if said:
                named = " ".join(requirements)
                raise LaneError(f"uv cannot make an environment with {named}: {said[:SAID].rstrip('.')}; mend --with")
        done.touch()
    return python


def uv(arguments: Sequence[str], given: str) -> str:
    """Run uv with this on its standard input; returns what went wrong, in one line. Raises LaneError without uv."""
    beside = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
    program = shutil.which("uv", path=beside)
    if program is None:
        raise LaneError("--with makes environments with uv, and there is none; install it, with pip install uv")
    ran = subprocess.run([program, *arguments], input=given, capture_output=True, text=True, check=False)  # noqa: S603
    return one_line(ran.stderr) or f"exit status {ran.returncode}" if ran.returncode else ""


def survey_in(python: Path, scenarios: Sequence[Scenario], words: Sequence[str], deadline: float) -> dict[str, Any]:
    """What `survey` says in the environment of this interpreter. Raises LaneError where it fails there."""
    asked = {"scenarios": [str(one.path.resolve()) for one in scenarios], "words": words, "deadline": deadline}
    with our_sources() as folder:
        ran = subprocess.run(  # noqa: S603 # an interpreter that we made
            [str(python), "-P", "-m", "compare.atlas"],
            input=json.dumps(asked),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": folder},
        )
    if ran.returncode:
        raise LaneError(f"the survey in {python} failed with exit status {ran.returncode}; its words are above")
    data: dict[str, Any] = json.loads(ran.stdout)
    return data


@contextmanager
def our_sources() -> Iterator[str]:
    """A folder that holds our own packages and none of those installed beside them."""
    with tempfile.TemporaryDirectory(prefix="diptych-") as folder:
        for name in OURS:
            found = importlib.util.find_spec(name)
            for place in (found.submodule_search_locations or ()) if found else ():
                Path(folder, name).symlink_to(Path(place).resolve(), target_is_directory=True)
        yield folder
