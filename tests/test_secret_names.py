"""Files whose names usually hold secrets are kept from models, by whatever path, but for the host's exceptions."""

from pathlib import Path

import pytest

from tests.openers import OPENERS
from tests.workspace import Tools, functions, refusal
from toolbox import confined, file_tools
from toolbox.confined import Opener
from toolbox.secret_names import SECRETS

SECRET_PATHS = [
    ".env",
    ".env.local",
    ".envrc",
    ".ENV",
    "prod.env",
    ".git/config",
    ".Git/config",
    "docs/.git/hooks/x",
    "id_rsa",
    "id_ed25519.bak",
    ".ssh/known_hosts",
    "server.pem",
    "SERVER.KEY",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".aws/credentials",
    ".kube/config",
    "docs/credentials.json",
    "infra/state.tfstate",
]


@pytest.mark.parametrize("path", SECRET_PATHS)
@pytest.mark.parametrize("there", [True, False])
def test_secrets_are_refused(tools: Tools, root: Path, path: str, there: bool) -> None:
    """Names that usually hold secrets are refused in any case, whether the file exists or not."""
    if there:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("SECRET")
    expected = (PermissionError, f"{path!r} is kept from models, as it usually holds secrets")
    assert expected == refusal(tools["read_text_file"], path)


@pytest.mark.parametrize("path", ["notes.txt", "folder/config", "chain", "docs/../notes.txt"])
def test_a_link_to_a_secret_is_refused(tools: Tools, root: Path, path: str) -> None:
    """A harmless name that leads to a secret inside is refused like the secret itself."""
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("SECRET")
    (root / ".env").write_text("SECRET")
    (root / "notes.txt").symlink_to(".env")
    (root / "folder").symlink_to(".git")
    (root / "chain").symlink_to("notes.txt")
    expected = (PermissionError, f"{path!r} is kept from models, as it usually holds secrets")
    assert expected == refusal(tools["read_text_file"], path)


def test_a_secret_that_is_deleted_while_it_is_open_stays_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel calls a file without a name left `name (deleted)`; that is not another name."""
    (root / ".netrc").write_text("SECRET")
    (root / "link").symlink_to(".netrc")
    lies_at = confined._lies_at

    def after_it_is_deleted(fd: int) -> bytes:
        (root / ".netrc").unlink(missing_ok=True)
        return lies_at(fd)

    monkeypatch.setattr(confined, "_lies_at", after_it_is_deleted)
    read = functions(file_tools(root, open_beneath=OPENERS[-1]))["read_text_file"]
    expected = (PermissionError, "'link' is kept from models, as it usually holds secrets")
    assert expected == refusal(read, "link")


def test_ordinary_names_are_no_secrets(tools: Tools, root: Path) -> None:
    """Names that only resemble a pattern are read."""
    for name in ["environment.md", "keys.md", "gitignore", ".gitignore", ".github", "pem.txt", "monkey"]:
        (root / name).write_text("fine")
        assert tools["read_text_file"](name) == "fine"


def test_the_option_lists_exceptions(root: Path, opener: Opener) -> None:
    """`allow_secrets` lets single names through, in any case, but not out of a secret folder."""
    (root / ".env").write_text("SECRET")
    (root / ".env.example").write_text("KEY=")
    (root / ".git").mkdir()
    (root / ".git" / ".env.example").write_text("SECRET")
    read = functions(file_tools(root, allow_secrets=[".Env.Example"], open_beneath=opener))["read_text_file"]
    assert read(".env.example") == "KEY="
    assert refusal(read, ".env")[0] is PermissionError
    assert refusal(read, ".git/.env.example")[0] is PermissionError


def test_the_option_lists_secrets(root: Path, opener: Opener) -> None:
    """`secrets` says what is refused: more than by default, or nothing."""
    (root / ".env").write_text("KEY=1")
    read = functions(file_tools(root, secrets=[*SECRETS, "README*"], open_beneath=opener))["read_text_file"]
    assert refusal(read, "README.md")[0] is PermissionError
    assert refusal(read, ".env")[0] is PermissionError
    read = functions(file_tools(root, secrets=(), open_beneath=opener))["read_text_file"]
    assert read(".env") == "KEY=1"
