"""What is said of a stack that is up: how it is stopped depends on who holds it."""

import pytest

from api.cli.stack.welcome import lines

TOLD = {
    **dict.fromkeys(("page", "api", "docs", "flower"), "http://a"),
    "key_path": "key",
    "seconds": 1.0,
    "commands": [],
    "unusable": [],
}


@pytest.mark.parametrize("is_detached", [True, False])
def test_only_a_stack_in_the_foreground_ends_by_a_key(*, is_detached: bool) -> None:
    said = "\n".join(lines(TOLD, "u:p", is_detached=is_detached))
    assert ("Ctrl-C" in said) is not is_detached
    assert "`logchord down`" in said


def test_a_source_that_is_not_read_is_told_with_the_reason() -> None:
    wrong = "The source elog is not read: No adapter is called 'elog_htp'."
    said = lines({**TOLD, "unusable": [wrong]}, "u:p", is_detached=True)
    assert wrong in said
    assert any("`logchord source reload`" in one for one in said)
