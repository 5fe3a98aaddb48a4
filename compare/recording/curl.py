"""One recorded request as a command that sends it again."""

import shlex

from compare.recording.error import RecordingError
from compare.recording.load import Recording
from compare.secrets import MASK
from compare.visible import visible


def curl(recording: Recording, number: int) -> str:
    """The command for the `number`-th request of the recording, from 1, runs one behind the other.

    The shell puts in the key, and the address where OPENAI_BASE_URL has another than OpenAI's. Raises RecordingError
    for a number that is not there.
    """
    exchanges = [exchange for one in recording.runs for exchange in one.run.exchanges]
    if not 1 <= number <= len(exchanges):
        raise RecordingError(
            visible(f"{recording.path}: has {len(exchanges)} requests, and none of number {number}; name one of them")
        )
    request = exchanges[number - 1].request
    path = request.target.removeprefix("/v1")
    lines = [
        f'curl --no-buffer --request {request.method} "${{OPENAI_BASE_URL:-https://api.openai.com/v1}}"{shlex.quote(path)}',
        '--header "Authorization: Bearer $OPENAI_API_KEY"',
    ]
    for name, value in request.headers:
        if name.lower() in ("accept", "content-type") and value != MASK:
            lines.append(f"--header {shlex.quote(f'{name}: {value}')}")
    if body := request.body.raw():
        lines.append(f"--data-raw {shlex.quote(body.decode('utf-8', 'replace'))}")
    return " \\\n  ".join(lines)
