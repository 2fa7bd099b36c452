"""What `doctor` says of sources that run, and run badly."""

from __future__ import annotations

from typing import Any

import pytest

from api.cli.doctor.source_checks import of_sources
from shared.errors import IngestionError
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.sources.runs import sync_config

TENANT = "default"
RING = {"adapter": "als", "base_url": "https://elog.example.org/data.php"}
LINAC = {**RING, "tenant": "linac"}


@pytest.fixture
def settings(database: str, committing: Any) -> Settings:
    given = {"database_url": database, "sources": {"linac": LINAC, "ring": RING}}
    made = Settings.model_validate(given)
    sync_config.arrange(committing, made)
    return made


def told(settings: Settings) -> list[tuple[str, str, str]]:
    return [(one.name, one.state, one.found) for one in of_sources(settings)]


def test_a_degraded_source_of_any_tenant_is_named_with_its_problem(
    settings: Settings, committing: Any
) -> None:
    assert told(settings) == [("sources", "ok", "2 are configured")]

    why = {"code": "partly_unread", "message": "The ELOG asks for a login for RF."}
    source_state.degrade(committing, "linac", "linac", why)
    error = IngestionError("The password has expired.", reason="not_authorised")
    source_state.failed(committing, TENANT, "ring", error, most=10)

    linac, ring = told(settings)
    assert linac[:2] == ("source linac", "note")
    assert linac[2] == "The source 'linac': The ELOG asks for a login for RF."
    assert ring[:2] == ("source ring", "note")
    assert "has failed: The password has expired." in ring[2]

    source_state.degrade(committing, "linac", "linac", None)
    source_state.pause(committing, TENANT, "ring", "moving house")
    ((*_, paused),) = told(settings)
    assert "was paused: moving house" in paused


def test_of_a_database_that_does_not_answer_no_source_is_called_well(
    settings: Settings,
) -> None:
    away = {"database_url": "postgresql://nobody@127.0.0.1:1/none"}
    (only,) = told(Settings.model_validate({**away, "sources": settings.sources}))
    assert only[:2] == ("sources", "note")
    assert only[2].startswith("how they stand is not known: ")
