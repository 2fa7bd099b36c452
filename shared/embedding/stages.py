"""The stages that an entry passes under these settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared import broker
from shared.embedding.encoders import ALIASES

if TYPE_CHECKING:
    from shared.settings import Settings


def of_settings(settings: Settings) -> tuple[str, ...]:
    """Return every stage, in the order in which an entry passes them."""
    model = ALIASES.get(settings.embedding_model, settings.embedding_model)
    return (
        broker.METADATA_STAGE,
        broker.embed_stage(model),
        broker.DUPLICATES_STAGE,
        broker.INDEX_STAGE,
    )


def of_entries(settings: Settings) -> tuple[str, ...]:
    """Return what is due at once; what needs the text as read follows metadata."""
    later = {broker.INDEX_STAGE, broker.DUPLICATES_STAGE}
    return tuple(one for one in of_settings(settings) if one not in later)


def of_deleted(settings: Settings) -> tuple[str, ...]:
    """Return what is due for an entry that is gone."""
    return tuple(one for one in of_settings(settings) if one != broker.METADATA_STAGE)
