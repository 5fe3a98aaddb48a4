"""The atlas: each lane on each scenario in each mode, with versions, and what other versions change."""

import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from compare.atlas import ready
from compare.atlas.changes import gathered
from compare.atlas.document import document, markdown
from compare.atlas.environments import BASE, make
from compare.atlas.ready import NODE_PACKAGES, PACKAGES, READY, behind, load_known, versions, words_with
from compare.atlas.shown import write_atlas
from compare.lanes import LaneError

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "compare/atlas/atlas.schema.json").read_text(encoding="utf-8"))
NETWORK = "DIPTYCH_NETWORK_TESTS"
OUTSIDE = dict(os.environ)
"""The environment before the tests keep themselves to this machine: an index may need its proxy and certificates."""
LANE = """
import os
import raw

def run(prompt, tools, **more):
    if os.environ.get("OTHER_VERSION"):
        return raw.run(f"{prompt}!", tools, **more)
    return raw.run(prompt, tools, **more)
"""
UV = """#!{python}
import os, pathlib, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(words[0] + " " + words[1] + chr(10))
if words[:2] == ["pip", "compile"]:
    wanted = sys.stdin.read()
    if "no-such" in wanted:
        sys.exit("error: no version of no-such" + chr(10) + "  at all.")
    pathlib.Path(words[words.index("--output-file") + 1]).write_text(wanted)
if words[0] == "venv":
    python = pathlib.Path(words[-1], "bin", "python")
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh" + chr(10) + "OTHER_VERSION=1 exec {python} \\"$@\\"" + chr(10))
    python.chmod(0o755)
"""
Atlas = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def atlas(tmp_path: Path) -> Atlas:
    """Runs `diptych atlas` in a folder with a lane `mine`, a cache of its own, and a `uv` that makes no environment.

    Its interpreters are this one with a variable more, by which the lane does otherwise.
    """
    (tmp_path / "mine.py").write_text(LANE, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uv").write_text(UV.format(python=sys.executable, log=str(tmp_path / "log")), encoding="utf-8")
    (tmp_path / "bin/uv").chmod(0o755)
    added = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    python_path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])

    def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "compare", "atlas", *words]
        environment = {**os.environ, **added, "PYTHONPATH": python_path, "HOME": str(tmp_path), **env}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)

    return run


def cell(stop: str, *findings: str, environment: str = "here", **more: Any) -> dict[str, Any]:
    """A cell of the lane `lc` on the scenario `one-call`, plain."""
    counts = {"info": 0, "notice": len(findings), "serious": 0}
    found = {"stop": stop, "counts": counts, "findings": list(findings)}
    return {"scenario": "one-call", "mode": "plain", "lane": "lc", **found, **more}


def surveyed(*cells: dict[str, Any], left_out: dict[str, str] | None = None) -> dict[str, Any]:
    """The survey of an environment with these cells."""
    packages = {"openai": "1.0", "httpx": None}
    return {"python": "3.11", "lanes": {"lc": packages}, "left_out": left_out or {}, "cells": list(cells)}


# --- here ---


def test_it_has_a_cell_for_each_scenario_lane_and_mode(atlas: Atlas) -> None:
    """With how the run ended and what was found, in the form of its schema; and the versions behind each lane."""
    ran = atlas("one-call", "endless-caller", "--lanes", "raw,lc", "--json", "-")
    data = json.loads(ran.stdout)
    jsonschema.validate(data, SCHEMA)
    assert (0, "") == (ran.returncode, ran.stderr)
    places = [(one["scenario"], one["mode"], one["lane"]) for one in data["cells"]]
    names = ("one-call", "endless-caller")
    assert [(name, mode, lane) for name in names for mode in ("plain", "stream") for lane in ("raw", "lc")] == places
    raw, lc = data["cells"][:2]
    assert ("answer", [], {"info": 0, "notice": 0, "serious": 0}) == (raw["stop"], raw["findings"], raw["counts"])
    assert ("answer", {"info": 2, "notice": 0, "serious": 0}) == (lc["stop"], lc["counts"])
    assert "added-field stream" in lc["findings"]
    assert {"round-limit"} == {one["stop"] for one in data["cells"][4:]}
    (here,) = data["environments"]
    assert version("langgraph") == here["lanes"]["lc"]["langgraph"]
    assert [] == data["changes"]


def test_a_lane_that_is_not_installed_is_left_out_by_name(atlas: Atlas, tmp_path: Path) -> None:
    """On standard error and in what is written; the others are there."""
    ran = atlas("one-call", "--lanes", "raw,no_such:run", "--json", "a.json", "--markdown", "a.md")
    said = "there is no module no_such; is it in this folder or installed?"
    assert (0, f"diptych: no_such is left out (here): {said}\n") == (ran.returncode, ran.stderr)
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert ({"no_such": said}, ["raw"]) == (
        data["environments"][0]["left_out"],
        list(data["environments"][0]["lanes"]),
    )
    assert f"| no_such | here | {said} |" in (tmp_path / "a.md").read_text(encoding="utf-8")
    assert "Left out" in ran.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lanes", ""], "no lane could be had, so there is no atlas; name one that is installed"),
        (["--lanes", "raw,raw:run"], "lane raw: it is named twice; name each once"),
        (["--lanes", "raw", "--with", " "], "it names no package; write --with 'NAME==VERSION'"),
        (
            ["--lanes", "raw", "--with", "no-such==1"],
            "uv cannot make an environment with no-such==1: error: no version of",
        ),
        (["--lanes", "raw", "--markdown", "no/folder/a.md"], "no/folder/a.md"),
        (["--deadline", "0"], "--deadline"),
    ],
)
def test_wrong_input_ends_with_2_and_names_the_mend(atlas: Atlas, words: list[str], said: str) -> None:
    """On standard error, without a traceback."""
    ran = atlas("one-call", *words)
    assert (2, "") == (ran.returncode, ran.stdout)
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_command_is_a_lane_here_too(atlas: Atlas) -> None:
    """Its packages are not known."""
    ran = atlas(
        "answer-without-tools", "--lanes", "raw", "--lane", f"me=cmd:{sys.executable} -m raw {{prompt}}", "--json", "-"
    )
    data = json.loads(ran.stdout)
    assert {"raw": {"httpx": version("httpx")}, "me": {}} == data["environments"][0]["lanes"]
    assert ["answer", "answer"] == [one["stop"] for one in data["cells"][:2]]


# --- with other versions ---


def test_what_another_version_changes_is_listed(atlas: Atlas, tmp_path: Path) -> None:
    """A column for each environment; exit code 1; and the second time the environment is there already."""
    words = ["one-call", "--lanes", "mine,raw", "--with", "mine==2 other<3", "--markdown", "a.md"]
    ran = atlas(*words, "--json", "a.json")
    assert (1, "") == (ran.returncode, ran.stderr)
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert ["here", "mine==2 other<3"] == [one["name"] for one in data["environments"]]
    assert [
        ("mine", mode, ["answer", "answer"], ["changed-value messages[0].content"], []) for mode in ("plain", "stream")
    ] == [(one["lane"], one["mode"], one["stop"], one["new"], one["gone"]) for one in data["changes"]]
    assert "| one-call | plain | answer | answer | answer · 1 notice | answer |" in (tmp_path / "a.md").read_text(
        "utf-8"
    )
    assert "new: changed-value messages[0].content" in ran.stdout
    assert "2: one-call (plain), one-call (stream)" in ran.stdout
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert ["pip compile", "venv --quiet", "pip sync"] == log.splitlines()
    assert 1 == atlas(*words).returncode
    assert log == (tmp_path / "log").read_text(encoding="utf-8")


def test_without_uv_it_says_what_to_install(atlas: Atlas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, before anything runs."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    said = "--with makes environments with uv, and there is none; install it, with pip install uv"
    with pytest.raises(LaneError) as caught:
        make(["openai==2"], ["openai"])
    assert said == str(caught.value)


@pytest.mark.skipif(not os.environ.get(NETWORK), reason=f"needs uv and a package index: set {NETWORK}=1")
def test_an_older_langchain_openai_asks_another_endpoint(tmp_path: Path) -> None:
    """A real environment: the model's name did not pick the endpoint yet, and all else stays as it is here."""
    command = [sys.executable, "-m", "compare", "atlas", "model-name-picks-the-endpoint", "--json", "-"]
    env = OUTSIDE | {"XDG_CACHE_HOME": str(tmp_path)}
    command += ["--with", "langchain-openai==1.1.0"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=env)
    data = json.loads(ran.stdout)
    here, other = (one["lanes"]["lc"] for one in data["environments"])
    assert (1, "1.1.0", here["langgraph"]) == (ran.returncode, other["langchain-openai"], other["langgraph"])
    assert [["http-error", "answer"]] * 2 == [one["stop"] for one in data["changes"]]
    assert all("other-endpoint POST /v1/responses" in one["gone"] for one in data["changes"])


# --- as data, and as text ---


def test_a_change_is_a_stop_or_a_finding_that_came_or_went() -> None:
    """Cell by cell, against the first environment; a cell that only one of them has is none."""
    before = surveyed(cell("answer", "a", "b"), cell("answer", mode="stream"), cell("answer", scenario="other"))
    after = surveyed(cell("crash", "b", "c"), cell("answer", mode="stream"), cell("crash", scenario="new"))
    data = document([("here", before), ("x==1", after)])
    jsonschema.validate(data, SCHEMA)
    where = {"environment": "x==1", "scenario": "one-call", "mode": "plain", "lane": "lc"}
    assert [{**where, "stop": ["answer", "crash"], "new": ["c"], "gone": ["a"]}] == data["changes"]
    runs = ["one-call (plain)"]
    assert {("x==1", "lc"): {"stop answer → crash": runs, "new: c": runs, "gone: a": runs}} == gathered(data["changes"])


def test_the_markdown_shows_text_from_data_as_text() -> None:
    """What would be a column, a tag or a link of Markdown's is none."""
    data = document([("here", surveyed(cell("answer", scenario="a|b<c>[d]*`"), left_out={"x": "no\nway"}))])
    text = markdown(data)
    assert "| a\\|b\\<c>\\[d\\]\\*\\` | plain | answer |" in text
    assert "| x | here | no␊way |" in text
    assert "| lc | here | 3.11 | openai 1.0 |" in text


def test_the_terminal_gathers_lanes_that_end_alike() -> None:
    """One line for an outcome, within the width."""
    cells = [cell("answer", lane=lane) for lane in ("lc", "b")] + [cell("crash", "f", lane="c")]
    survey = surveyed(*cells) | {"lanes": {lane: {} for lane in ("lc", "b", "c")}}
    console = Console(file=io.StringIO(), width=50)
    write_atlas(document([("here", survey)]), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "    answer  lc, b\n    crash · 1 notice  c\n" in shown
    assert "not known" in shown
    assert max(map(len, shown.splitlines())) <= 50


# --- the lanes that Diptych knows ---


def test_every_ready_lane_is_known_with_its_packages() -> None:
    """Those in src/lanes and in examples, and those of the matrix."""
    modules = {f"lanes.{path.stem}" for path in (ROOT / "src/lanes").glob("[a-z]*.py")}
    programs = {path.stem for path in (ROOT / "examples/lanes/node").glob("*.mjs")} - {"host"}
    assert {"raw", "lc", "lc.prebuilt", "lc.sturdy", *modules} == set(PACKAGES)
    assert programs == set(NODE_PACKAGES)
    about = json.loads((ROOT / "examples/lanes/node/package.json").read_text(encoding="utf-8"))
    assert {name for names in NODE_PACKAGES.values() for name in names} == set(about["dependencies"])
    assert (*PACKAGES, *NODE_PACKAGES) == tuple(word.partition("=")[0] for word in READY)


def test_what_an_environment_needs_is_what_the_project_needs() -> None:
    """The judge's own packages, and those of the lanes: all are dependencies or extras of ours.

    What only the lab, the page's server, or the memory of lc.sturdy needs, no lane of the catalogue does.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    beside = {"starlette", "uvicorn", "langgraph-checkpoint-sqlite", "ormsgpack"}
    declared = {ready.bare(one) for one in project["dependencies"]} - beside
    extras = project["optional-dependencies"]
    optional = {ready.bare(one) for name in extras if name != "postgres" for one in extras[name]}
    lanes = {ready.bare(one) for packages in PACKAGES.values() for one in packages} - {"openai"}
    assert {*BASE, "httpx2", "langchain-core", "langchain-openai", "langgraph"} == declared
    assert declared | optional == {*BASE, *lanes}


def test_with_chooses_the_lanes_that_it_is_about() -> None:
    """By the packages behind them; all where none is."""
    assert ["lc", "lc.prebuilt", "lc.sturdy"] == words_with(["LangChain_OpenAI==1.1.0"])
    assert ["lanes.pydantic_ai"] == words_with(["pydantic-ai-slim[openai]>=2"])
    assert [lane for lane, packages in PACKAGES.items() if "openai" in packages] == words_with(["openai<3"])
    assert list(PACKAGES) == words_with(["numpy"])


def test_a_lane_of_a_known_package_has_its_packages() -> None:
    """A module of `lc` those of `lc`, if it has none of its own; of anything else nothing is known."""
    assert PACKAGES["lc"] == behind("lc.graph") == behind("lc:run")
    assert PACKAGES["lc.sturdy"] == behind("lc.sturdy:run")
    assert () == behind("mine")
    assert {} == versions("mine")


def test_a_program_for_node_without_its_packages_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And one without its source."""
    word = next(word for word in READY if "=" in word)
    monkeypatch.setattr(ready, "NODE", tmp_path)
    assert ([], {"vercel-ai": "its packages are not installed; run npm install in examples/lanes/node"}) == load_known(
        [word]
    )
    monkeypatch.setattr(ready, "NODE", tmp_path / "gone")
    assert ([], {"vercel-ai": "its program comes with Diptych's source; run this in a checkout"}) == load_known([word])
