"""Run the files of the few tests that failed once more, and say what came of it.

Experiments on real servers have bounds in seconds, and a machine of many may stand
still for one. What fails again is wrong; so is whatever failed without a server, and
more than a few files at once: one run that many tests look at may fail them all. What
passes now is named in the last line: it wants a look.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
RESULTS = "test-results/again.xml"
MOST = 3
WITHOUT_SERVERS = "tests/unit/"


def main() -> int:
    """Return 0 when all that failed has passed now."""
    failed = sorted(json.loads(FAILED.read_bytes())) if FAILED.exists() else []
    refusal = why_not(failed)
    if refusal is not None:
        print(f"not run again: {refusal}", file=sys.stderr)
        return 1
    print(f"again, by itself: {', '.join(failed)}", flush=True)
    # The whole file in its order: what its neighbours spoil is to fail again.
    files = files_of(failed)
    options = [f"--junit-xml={RESULTS}", "--randomly-seed=last"]
    command = [".ci/test", *options, *files]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode == 0:
        print(f"failed beside others, passed by itself: {', '.join(failed)}")
    return done.returncode


def files_of(failed: Sequence[str]) -> list[str]:
    """Return the files in which these tests are."""
    return sorted({one.partition("::")[0] for one in failed})


def why_not(failed: Sequence[str]) -> str | None:
    """Return the reason why a second run would prove nothing, if there is one."""
    many = len(files_of(failed))
    if not 0 < many <= MOST:
        return f"tests of {many} files failed, and of up to {MOST} may"
    for one in failed:
        if one.startswith(WITHOUT_SERVERS):
            return f"{one} has no server to wait for"
        if "::" not in one:
            return f"{one} could not be read"
    return None


if __name__ == "__main__":
    sys.exit(main())
