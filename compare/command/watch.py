"""The small process between Diptych and a lane's command: it starts the command and says what became of it.

It is there for the measure: what Linux tells as the peak memory of a program includes that of the process which
started it, so that process must be a small one. It runs as a script, of Python alone.
"""

import os
import signal
import sys

RESTORED = (signal.SIGPIPE, signal.SIGTERM, signal.SIGXFSZ)
"""Signals that are ignored here, by Python or below, and that the command is to have as any program has them."""


def main() -> None:
    """Run the words behind the first one, and write to the file descriptor that the first one names.

    What is written is "exit status, peak memory as `getrusage` counts it", or "-, why it could not be started".
    """
    to, words = int(sys.argv[1]), sys.argv[2:]
    # A deadline ends the whole group with SIGTERM; what became of the command is still to be told then.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    close = [(os.POSIX_SPAWN_CLOSE, to)]
    try:
        child = os.posix_spawnp(words[0], words, os.environ, file_actions=close, setsigdef=RESTORED)
    except OSError as error:
        os.write(to, f"- {error.strerror}".encode())
        return
    _, status, used = os.wait4(child, 0)
    os.write(to, f"{os.waitstatus_to_exitcode(status)} {used.ru_maxrss}".encode())


if __name__ == "__main__":
    main()
