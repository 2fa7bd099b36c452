"""The whole kit as tests: `from workers.adapters.kit.suite import *` in a test file."""

from collections.abc import Callable

import pytest

from workers.adapters.kit import matrix
from workers.adapters.kit.subject import Subject, registered, without_subject

__all__ = [
    "test_every_adapter_of_the_package_is_examined",
    "test_it_conforms",
    "test_it_lacks_only_what_the_page_says",
]


def test_every_adapter_of_the_package_is_examined(kit_subjects: list[Subject]) -> None:
    """An adapter without a stub has not been examined, and does not pass."""
    assert kit_subjects, "no conftest names a subject: pytest_logchord_subjects"
    assert without_subject(kit_subjects) == []


def test_it_conforms(kit_check: Callable[[], None]) -> None:
    """One check of one adapter."""
    kit_check()


def test_it_lacks_only_what_the_page_says(
    kit_absence: tuple[str, Subject], kit_page: dict[str, dict[str, str]] | None
) -> None:
    """A row that does not apply is reported, and the reference says so too."""
    row, subject = kit_absence
    descriptor = registered()[subject.adapter].descriptor
    reason = matrix.not_applicable(row, descriptor)
    assert reason is not None
    if kit_page is not None:
        assert matrix.disagreement(kit_page, row, descriptor) is None
    pytest.skip(f"n/a: {reason}")
