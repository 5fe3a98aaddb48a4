"""The survey of one environment, for the process that asks: the question on standard input, the answer as JSON."""

import json
import sys
from pathlib import Path

from compare.process import AS_EXPECTED, finish, lanes_at_work


def main() -> int:
    """Answer one question."""
    from compare.atlas.survey import survey
    from compare.cli_options import counting
    from compare.scenario import load

    asked = json.load(sys.stdin)
    scenarios = [load(Path(path)) for path in asked["scenarios"]]
    with lanes_at_work(), counting("surveying", len(scenarios)) as step:
        found = survey(scenarios, asked["words"], asked["deadline"], step)
    sys.stdout.write(json.dumps(found))
    return AS_EXPECTED


if __name__ == "__main__":
    finish(main)
