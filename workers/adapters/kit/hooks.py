"""What a conftest may say to the conformance kit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from workers.adapters.kit.subject import Subject


def pytest_logchord_subjects(config: pytest.Config) -> Sequence[Subject] | None:
    """Return the adapters to be examined, each with a way of making its stub."""
