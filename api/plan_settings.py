"""What plans depend on beside their questions, as the settings and files say it."""

from __future__ import annotations

import hashlib
import json
from datetime import time as time_of_day
from typing import TYPE_CHECKING

from shared.query.language.calendar import Clock
from shared.text import facility
from shared.text.analyser import version_of
from shared.text.facility import Facility

if TYPE_CHECKING:
    from shared.settings import Settings

_HASH_CHARACTERS = 16


def config_hash(settings: Settings, own: Facility) -> str:
    """Return a digest of all that an order depends on beside its question."""
    parts = (
        *("search", "search_modules", "keyword", "fusion", "reranking"),
        "unified_search",
    )
    values = {name: getattr(settings, name).model_dump(mode="json") for name in parts}
    # As long as there are none, their answers and cursors stay what they were.
    if settings.pipelines.plugins:
        values["pipelines"] = settings.pipelines.model_dump(mode="json")
    values["limits"] = [settings.rrf_k, settings.max_window, settings.max_query_terms]
    values["analyser"] = [version_of(own), own.whole_fingerprint]
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


def calendar_of(settings: Settings) -> Clock:
    """Return how the facility counts its days, without what is now."""
    own = facility_of(settings)
    return Clock(
        zone=settings.facility_timezone,
        day_starts=time_of_day.fromisoformat(settings.day_starts),
        shifts=own.shifts,
        periods=own.calendar,
    )


def facility_of(settings: Settings) -> Facility:
    """Return the facility's own words, as its file says them."""
    path = settings.analyser.facility_file
    return facility.load(path, settings.facility_timezone)
