"""A hit as answers of every kind show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeAlias

from shared.entries.identity import permalink, source_uri
from shared.search.jobs.compatibility import read_fields, to_json_value
from shared.search.ranking.calibration import Calibration, Confidence
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results.highlights import MarkedText
from shared.search.results.result_page import Shown
from shared.search.results.superseded import Other
from shared.text.reading.quantities import UNIT_OF
from shared.times.rfc3339 import timestamp

Validation: TypeAlias = Literal["kept", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherValue:
    """A value that an entry states of a device, and another one that another states."""

    device: str
    parameter: Annotated[str, "What of the device it is a value of."]
    dimension: str
    unit: Annotated[str, "Of both values; a fraction has none."]
    stated: Annotated[float, "What the entry itself says."]
    value: Annotated[float, "What the other entry says."]
    entry_id: str
    source: str
    external_id: str
    permalink: str
    time: Annotated[str, "When the other one happened, or was written."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An entry that was found, in its place; where `fields` are named, these alone."""

    entry_id: str
    chunk_id: str
    revision: int
    kind: str
    category: str | None
    title: str
    content: Annotated[str, "The best passage of the entry."]
    source: str
    external_id: str
    source_uri: str
    url: str | None
    permalink: Annotated[str, "Its address here; a rebuild keeps it."]
    author: str | None
    authors: list[str]
    entry_time: datetime
    event_time: datetime | None
    thread_id: str | None
    logbooks: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    highlights: Annotated[
        list[str], "Parts of it as escaped HTML; what was asked for in `<b>`."
    ]
    relevance_score: float
    confidence: Confidence
    calibration: Calibration
    rank: int
    scores: Mapping[str, float]
    ranks: Mapping[str, int]
    contrib: Mapping[str, float]
    factors: Mapping[str, float]
    found_by: Annotated[
        list[str], "The sub-queries that found it; of a single question, the branches."
    ]
    multi_source: bool
    validation_score: Annotated[
        float | None, "Cosine to the whole question, where several parts were asked."
    ]
    validation: Annotated[
        Validation | None, "`skipped`: nobody compared it; null: nothing to compare."
    ]
    origin: str
    source_removed: Annotated[
        bool, "Its source is configured no more, or off: this is how it was last read."
    ]
    similar_count: int
    superseded_by: Annotated[
        list[OtherValue],
        "Values of it that are not the newest, and who states the newest.",
    ]
    replaces: Annotated[
        list[OtherValue], "Newest values of it, and what they have replaced."
    ]

    def to_json(self) -> dict[str, Any]:
        """Return the hit as JSON takes it."""
        values: dict[str, Any] = to_json_value(self)
        for name in ("entry_time", "event_time"):
            values[name] = timestamp(values[name])
        for name in ("superseded_by", "replaces"):
            values[name] = [to_json_value(one) for one in values[name]]
        return values

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read a whole hit back; fields of a newer release are left out."""
        # Fields that the release before does not store.
        before = {"category": None, "source_removed": False}
        before |= {"validation_score": None, "validation": None}
        return read_fields(cls, {**before, **values})


def make_hit(
    tenant: str, place: int, shown: Shown, marked: MarkedText, *, source_removed: bool
) -> Hit:
    """Make the hit of one entry of a page, with its passage and its marks."""
    item, row = shown.item, shown.row
    return Hit(
        entry_id=item.entry_id,
        chunk_id=item.chunk_id,
        revision=row.revision,
        kind=row.kind,
        category=row.category,
        title=row.title,
        content=marked.content,
        source=row.source,
        external_id=row.external_id,
        source_uri=source_uri(tenant, row.source, row.external_id),
        url=row.url,
        permalink=permalink(row.source, row.external_id),
        author=row.author,
        authors=row.authors,
        entry_time=row.entry_time,
        event_time=row.event_time,
        thread_id=str(row.thread_id) if row.thread_id else None,
        logbooks=row.logbooks,
        tags=row.tags,
        metadata=row.metadata,
        highlights=marked.highlights,
        relevance_score=item.relevance_score,
        confidence=item.confidence,
        calibration=item.calibration,
        rank=place,
        scores={**item.scores, "rrf": item.rrf},
        ranks=item.ranks,
        contrib=item.contrib,
        factors=item.factors,
        found_by=item.found_by,
        multi_source=len(item.found_by) > 1,
        validation_score=item.validation_score,
        validation=_validation(item),
        origin=row.origin,
        source_removed=source_removed,
        similar_count=shown.similar,
        superseded_by=[_other_value(one) for one in shown.values.superseded_by],
        replaces=[_other_value(one) for one in shown.values.replaces],
    )


def _validation(item: Ranked) -> Validation | None:
    if not item.sub_queries:
        return None
    return "skipped" if item.validation_score is None else "kept"


def _other_value(one: Other) -> OtherValue:
    return OtherValue(
        device=one.device,
        parameter=one.parameter,
        dimension=one.dimension,
        unit=UNIT_OF.get(one.dimension, ""),
        stated=one.stated,
        value=one.value,
        entry_id=str(one.other_id),
        source=one.source,
        external_id=one.external_id,
        permalink=permalink(one.source, one.external_id),
        time=timestamp(one.said_at),
    )
