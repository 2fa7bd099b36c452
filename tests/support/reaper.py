"""Ends what a killed test run leaves: it waits for its parent's pipe to close.

usage: reaper.py LIST; the file LIST holds a pid or a folder a line, as they come up.
"""

import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def main(listed: Path) -> None:
    """Wait for the end of the input, then kill and remove what is still listed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    lines = listed.read_text(encoding="utf-8").split("\n") if listed.exists() else []
    for line in lines:
        if line.isdigit():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(line), signal.SIGKILL)
    for line in lines:
        folder = Path(line)
        if (
            line
            and not line.isdigit()
            and Path(tempfile.gettempdir()) in folder.parents
        ):
            shutil.rmtree(folder, ignore_errors=True)
    listed.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
