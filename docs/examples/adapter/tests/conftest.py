"""Whom the conformance kit examines in this package."""

from __future__ import annotations

from stub import AcmeStub  # type: ignore[import-not-found]

from workers.adapters.kit.subject import Subject


def pytest_logchord_subjects() -> list[Subject]:
    """Name the one adapter of the package."""
    return [Subject("acme", AcmeStub)]
