"""Commands as they are typed, within this process."""

from __future__ import annotations

import pytest

from api.cli.main import main


def ending(*arguments: str) -> int:
    """Run a command and return its exit code."""
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert isinstance(caught.value.code, int)
    return caught.value.code
