"""What is said of a stack that is up: how it is stopped depends on who holds it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.cli.output import Output
from api.cli.stack.welcome import Welcome

FOREGROUND = Welcome("http://a", "http://a/docs", "http://f", "u:p", 1.0, "key", ())


@pytest.mark.parametrize("is_detached", [True, False])
def test_only_a_stack_in_the_foreground_ends_by_a_key(
    capsys: pytest.CaptureFixture[str], *, is_detached: bool
) -> None:
    replace(FOREGROUND, is_detached=is_detached).show(Output())
    said = capsys.readouterr().out
    assert ("Ctrl-C" in said) is not is_detached
    assert "`logchord down`" in said
