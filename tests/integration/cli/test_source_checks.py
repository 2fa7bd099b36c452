"""What `doctor` says of sources that run, and run badly."""

from typing import Any

import pytest

from api.cli.doctor.source_checks import of_sources
from api.sources.schemas.sources import source_out
from shared.access.scope import Scope
from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef
from shared.enrich.attachments import attachment_states
from shared.enrich.attachments.attachment_states import FileContents
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone_many
from shared.errors import IngestionError, MalformedEntryError
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.sources.admin import source_overview
from shared.sources.intake import quarantined_items
from shared.sources.intake.quarantined_items import Rejected
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


def test_what_is_not_here_of_a_source_is_named_with_its_reason(settings, committing):
    bad = MalformedEntryError("No time.", reason="time_missing")
    item = RawItem("7", b"x", "text/plain")
    quarantined_items.store_rejected(committing, TENANT, "ring", [Rejected(item, bad)])
    quarantined_items.store_rejected(committing, TENANT, "gone", [Rejected(item, bad)])
    refs = tuple(AttachmentRef(name, name) for name in ("a", "b", "c", "d"))
    draft = EntryDraft("linac", "1", "x", readers=("rf",), attachments=refs)
    (saved,) = save_page(committing, "linac", [draft], stages=[], editor="test")
    refused = IngestionError("far.example may not be asked.", reason="address_refused")
    away = IngestionError("Nobody answers.", reason="no_connection")
    kept = FileContents("text/plain", bytes(32), "text", 4)
    first, second, third, last = attachment_states.list_due_files(
        committing, "linac", saved.entry_id
    )
    attachment_states.end(committing, first, "linked", error=refused)
    attachment_states.end(committing, second, "failed", error=refused)
    attachment_states.record_failure(committing, third, away)
    attachment_states.end(committing, last, "stored", stored=kept)

    assert told(settings) == [
        (
            "source linac",
            "note",
            (
                "Of the source 'linac' 2 files were not fetched (address_refused)."
                " far.example may not be asked."
            ),
        ),
        (
            "source linac",
            "note",
            (
                "Of the source 'linac' 1 file was not fetched (no_connection)."
                " Nobody answers. It is tried again by itself."
            ),
        ),
        (
            "source ring",
            "note",
            (
                "Of the source 'ring' 1 record is quarantined: `logchord quarantine"
                " list --stage ingest --source ring` shows why."
            ),
        ),
    ]
    views = source_overview.list_sources(
        committing,
        Scope("linac", "me"),
        settings.sources,
        stocks=source_overview.keep_stocks(),
    )
    (linac,) = (source_out(one, admin=False) for one in views if one.state)
    assert (linac["quarantined"], linac["files_not_fetched"]) == (0, 3)
    # A message may name what not everybody may read.
    assert not any("far.example" in one for one in linac["shortfalls"])

    quarantined_items.forget(committing, TENANT, "ring", ["7"])
    tombstone_many(committing, "linac", "linac", ["1"], reason="gone", stages=[])
    assert told(settings) == [("sources", "ok", "2 are configured")]


def test_of_a_database_that_does_not_answer_no_source_is_called_well(settings) -> None:
    away = {"database_url": "postgresql://nobody@127.0.0.1:1/none"}
    (only,) = told(Settings.model_validate({**away, "sources": settings.sources}))
    assert only[:2] == ("sources", "note")
    assert only[2].startswith("how they stand is not known: ")
