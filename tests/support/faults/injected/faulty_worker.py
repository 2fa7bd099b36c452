"""A worker in test context, run as a module with its QUEUES.

It becomes just what `python -m workers.runtime.worker_kinds QUEUES` becomes, once this
process has taken what LOGCHORD_TEST_FAULTS says, so that the children of its pool have
it too:

    {"clock": {"shift_seconds": 7200, "after_seconds": 0},
     "checkpoints": "FOLDER",
     "poison": [{"word": "venom", "where": "metadata", "does": "kill"}]}

`checkpoints.py`, `clock.py` and `poison.py` say what each part does.
"""

import json
import os
import sys
from typing import Any, NoReturn

from tests.support.faults.injected import clock

VARIABLE = "LOGCHORD_TEST_FAULTS"


def main(arguments: list[str]) -> None:
    """Set up the faults, the clock first, and become the worker."""
    faults: dict[str, Any] = json.loads(os.environ.get(VARIABLE, "{}"))
    if "clock" in faults:
        # Before anything else is imported: modules keep what `time` held by then.
        clock.shift(**faults["clock"])

    from workers.runtime import worker_kinds

    if "checkpoints" in faults:
        from tests.support.faults.injected import checkpoints

        checkpoints.install(faults["checkpoints"])
    if "poison" in faults:
        from tests.support.faults.injected import poison

        poison.install(faults["poison"])
    # An exec would wipe all of that away.
    os.execv = _go_on_here
    worker_kinds.main(arguments)


def _go_on_here(_: object, command: Any) -> NoReturn:
    from celery.__main__ import main as celery

    sys.argv = list(command)
    sys.exit(celery())


if __name__ == "__main__":
    main(sys.argv[1:])
