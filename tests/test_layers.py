"""Who may import whom: arrows run only downwards."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"raw", "lc", "lanes", "toolbox", "protocol", "compare", "tests", "bench"}
STDLIB = set(sys.stdlib_module_names)
MAY_IMPORT = {
    "protocol": STDLIB | {"protocol"},
    "toolbox": STDLIB | {"toolbox", "protocol", "click", "fastjsonschema"},
    "raw": STDLIB | {"raw", "toolbox", "protocol", "httpx"},
    "lc": STDLIB
    | {
        "lc",
        "toolbox",
        "protocol",
        "click",
        "httpx2",
        "langchain",
        "langchain_core",
        "langchain_openai",
        "langgraph",
        "openai",
        "ormsgpack",
        "aiosqlite",
        "psycopg",
        "pydantic",
        "rich",
    },
    "lanes": STDLIB
    | {"toolbox", "protocol", "openai", "agents", "pydantic_ai", "smolagents", "rich", "llama_index", "workflows"},
    "compare": STDLIB
    | {
        "compare",
        "toolbox",
        "protocol",
        "click",
        "fastjsonschema",
        "h11",
        "httpx",
        "jsonschema",
        "rich",
        "starlette",
        "uvicorn",
    },
}


def folder(package: str) -> Path:
    return ROOT / "compare" if package == "compare" else ROOT / "src" / package


def imports(path: Path) -> set[str]:
    """The top-level packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            found.add((node.module or "").partition(".")[0])
    return found


def loaded_by(code: str) -> set[str]:
    """The top-level packages in sys.modules after a piece of code, in a new interpreter."""
    shown = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_floor_imports_only_what_lies_below(package: str) -> None:
    """The ground knows no lane, the lanes know neither each other nor the judge."""
    files = sorted(folder(package).rglob("*.py"))
    assert files
    for path in files:
        assert imports(path) <= MAY_IMPORT[package], path


@pytest.mark.parametrize("package", ["raw", "lanes", "toolbox", "protocol", "compare"])
def test_importing_it_loads_no_framework(package: str) -> None:
    """What is not LangGraph's lane works without LangChain."""
    assert not loaded_by(f"import {package}") & {"langchain_core", "langgraph", "openai", "pydantic"}


@pytest.mark.parametrize("module", ["compare.cli", "lc.__main__"])
def test_help_is_there_at_once(module: str) -> None:
    """--help loads neither a framework nor an HTTP client."""
    code = f"import {module}\nimport lc"
    assert not loaded_by(code) & {"langchain_core", "langgraph", "openai", "httpx", "rich", "h11"}


@pytest.mark.parametrize("module", ["compare", "lc"])
def test_help_answers_within_a_fifth_of_a_second(module: str) -> None:
    """The best of five tries counts, in CPU time, because the machine may be busy."""
    code = (
        "import resource, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-m', '{module}', '--help'], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    tries = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(one.stdout) for one in tries) < 0.2


def test_no_module_is_long() -> None:
    """None has more than 400 lines."""
    files = [path for name in OURS for path in [*ROOT.glob(f"{name}/**/*.py"), *ROOT.glob(f"src/{name}/**/*.py")]]
    long = {str(path): count for path in files if (count := len(path.read_text(encoding="utf-8").splitlines())) > 400}
    assert long == {}
