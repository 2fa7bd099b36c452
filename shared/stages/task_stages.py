"""The stages that have tasks of their own, registered as everybody's are."""

from shared.messaging import stage_names
from shared.stages.stage_contract import StageDescriptor

# Part of what is kept of a text, too: what an older version has placed is placed anew.
DUPLICATES_VERSION = 2


def attachments() -> StageDescriptor:
    """Return the stage that fetches and reads files."""
    return StageDescriptor(
        stage_names.ATTACHMENTS_STAGE,
        version=2,
        description="Fetches the entry's files, reads the text in them and makes"
        " pictures small.",
        order=5,
        writes="the files, their texts and their thumbnails",
        on_demand=True,
    )


def metadata() -> StageDescriptor:
    """Return the stage that reads the text."""
    return StageDescriptor(
        stage_names.METADATA_STAGE,
        version=1,
        description="Reads the text: language, terms, names, facts and quantities.",
        order=10,
        writes="`entry_text`, `entry_metadata`, `entry_finding`, `entry_quantity`",
        is_optional=False,
    )


def duplicates() -> StageDescriptor:
    """Return the stage that puts an entry among its like."""
    return StageDescriptor(
        stage_names.DUPLICATES_STAGE,
        version=DUPLICATES_VERSION,
        description="Finds copies of the entry, and the series of a machine.",
        order=35,
        after=(stage_names.METADATA_STAGE,),
        writes="`likeness` and its groups",
        on_deletion=True,
    )


def index() -> StageDescriptor:
    """Return the stage that writes the document."""
    return StageDescriptor(
        stage_names.INDEX_STAGE,
        version=1,
        description="Writes the entry's document to OpenSearch.",
        order=90,
        after=(stage_names.METADATA_STAGE,),
        writes="the document",
        is_optional=False,
        on_deletion=True,
    )


def alert() -> StageDescriptor:
    """Return the stage that matches an entry with saved searches."""
    return StageDescriptor(
        stage_names.ALERT_STAGE,
        version=1,
        description="Tells those whose saved search finds the entry.",
        order=95,
        writes="`alert`",
        on_demand=True,
    )
