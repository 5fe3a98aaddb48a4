"""The lanes that Diptych knows, with the packages behind each and their versions here."""

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from compare.lanes import Lane, LaneError, load_lanes

GRAPH = ("langchain-openai", "langchain-core", "langgraph", "openai")
PACKAGES = {
    "raw": ("httpx",),
    "lc": GRAPH,
    "lc.prebuilt": ("langchain", *GRAPH),
    "lc.sturdy": (*GRAPH, "httpx2"),
    "lanes.openai_sdk": ("openai",),
    "lanes.openai_agents": ("openai-agents", "openai"),
    "lanes.pydantic_ai": ("pydantic-ai-slim[openai]", "openai"),
    "lanes.smolagents": ("smolagents[openai]", "openai"),
    "lanes.llama_index": ("llama-index-core", "llama-index-llms-openai-like", "openai"),
}
"""What to install for each lane that is a function: the packages that decide what it sends."""
NODE_PACKAGES = {
    "vercel-ai": ("ai", "@ai-sdk/openai-compatible"),
    "langchain-js": ("langchain", "@langchain/core", "@langchain/openai"),
}
"""The same for each lane that is a program for Node."""
NODE = Path(__file__).parents[2] / "examples" / "lanes" / "node"
NODE_WORDS = {f"{name}=cmd:node {shlex.quote(str(NODE / name))}.mjs": name for name in NODE_PACKAGES}

READY = (*PACKAGES, *NODE_WORDS)
"""The words for `load_lanes` of all lanes that Diptych knows."""


def words_with(requirements: Iterable[str]) -> list[str]:
    """Of the lanes that are functions, those with one of the required packages behind them; else all of them."""
    wanted = {bare(one) for one in requirements}
    found = [lane for lane, packages in PACKAGES.items() if wanted & {bare(one) for one in packages}]
    return found or list(PACKAGES)


def behind(lane: str) -> tuple[str, ...]:
    """What to install for a lane that is a function, going by its module or that's package; nothing for others'."""
    module = lane.partition(":")[0]
    return PACKAGES.get(module, PACKAGES.get(module.partition(".")[0], ()))


def versions(lane: str) -> dict[str, str | None]:
    """The packages behind a lane with their versions; None where one is not installed."""
    if lane in NODE_PACKAGES:
        return {name: node_version(name) for name in NODE_PACKAGES[lane]}
    return {bare(one): python_version(bare(one)) for one in behind(lane)}


def load_known(words: Sequence[str]) -> tuple[list[Lane], dict[str, str]]:
    """The lanes that can be had, and by name why each other cannot. Raises LaneError for a lane named twice."""
    lanes: dict[str, Lane] = {}
    left_out: dict[str, str] = {}
    for word in words:
        name = word.partition("=")[0].removesuffix(":run")
        if name in {*lanes, *left_out}:
            raise LaneError(f"lane {name}: it is named twice; name each once")
        try:
            if word in NODE_WORDS:
                check_node(name)
            lanes[name] = load_lanes(word)[0]
        except LaneError as error:
            left_out[name] = re.sub(r"^lane \S+: ", "", str(error))
    return list(lanes.values()), left_out


def check_node(lane: str) -> None:
    """Raise LaneError where a program for Node, or what it needs, is not there."""
    if not NODE.is_dir():
        raise LaneError("its program comes with Diptych's source; run this in a checkout")
    if None in versions(lane).values():
        raise LaneError("its packages are not installed; run npm install in examples/lanes/node")


def bare(requirement: str) -> str:
    """The name in a requirement, as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]).lower()


def python_version(package: str) -> str | None:
    """The version of an installed package for Python."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def node_version(package: str) -> str | None:
    """The version of a package for Node beside the programs."""
    try:
        about = json.loads((NODE / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str(about.get("version"))
