"""What the tests write scenario files from."""

from pathlib import Path

HEAD = 'title = "A title"\nteaches = "One sentence."\nprompt = "Say hello."\n'
REPLY = '[[reply]]\ncontent = "hi"\n'
EXPECT = '[expect]\nstop = "answer"\n'
CALL = '{ id = "c1", name = "calculator", arguments = \'{"expression":"1+1"}\' }'


def write(folder: Path, text: str, name: str = "x.toml") -> Path:
    """A scenario file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
