"""Entries as they come in and go out over REST."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote
from uuid import UUID

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    FailFast,
    Field,
    RootModel,
    Tag,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict

from api.entries.schemas.attachments import AttachmentOut, attachment_out
from api.server.body_model import Body, RequestBody, ResponseBody, dump_fields
from shared.adapter_contract.entry import TextFormat
from shared.entries.identity import permalink, source_uri
from shared.entries.reading.findings_shown import Digest
from shared.entries.reading.read_entries import EntryView
from shared.entries.reading.revisions import Revision, difference
from shared.entries.saving.attachment_rows import Attached
from shared.entry_fields import Kind
from shared.messaging.stage_names import ATTACHMENTS_STAGE

# More names than any body has; each one that is unknown costs a kilobyte to refuse.
MAX_FIELDS = 100

Name = Annotated[str, Field(max_length=255)]
# How many there may be is a setting: so one wrong name is told, not a million.
Names = Annotated[list[Name], FailFast()]


# Described here, read by the text door: what it refuses has codes of its own.
Time = Annotated[
    str,
    Field(
        json_schema_extra={
            "format": "date-time",
            "pattern": "^(19|20|21)[0-9]{2}-",
            "examples": ["2026-03-02T05:10:00+01:00"],
        }
    ),
]


def _few_fields(value: Any) -> Any:
    if isinstance(value, dict) and len(value) > MAX_FIELDS:
        raise ValueError(f"{len(value)} fields are too many")
    return value


def _both(one: str, many: str) -> JsonDict:
    """Word what no field alone can: a value stands in one of two fields."""
    values: JsonDict = {one: {"type": "string"}, many: {"type": "array"}}
    return {"properties": values, "required": [one, many]}


class LinkIn(RequestBody):
    """Another entry of the same source that this one names; it may come later."""

    kind: Literal["supersedes", "related"]
    """A superseded entry is deleted: it must be there to be edited."""
    external_id: str = Field(min_length=1, max_length=255)


class EntryIn(Body):
    """One entry as a program pushes it; any other field is refused."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "source": "api",
                    "external_id": "OPS-77",
                    "title": "RF trip",
                    "text": "SR RF cavity 2 tripped on arc.",
                    "author": "J. Ruiz",
                    "logbook": "Operations",
                    "entry_time": "2026-03-02T05:10:00+01:00",
                }
            ],
            "not": {
                "anyOf": [_both("author", "authors"), _both("logbook", "logbooks")]
            },
        },
    )

    source: str = Field("api", min_length=1, max_length=255)
    external_id: str | None = Field(None, min_length=1)
    """The facility's own id; made here if absent."""
    title: str = ""
    text: str
    text_format: TextFormat = "plain"
    authors: list[Name] | None = Field(None, max_length=100)
    author: Name | None = Field(None, description="One author, instead of `authors`.")
    logbooks: list[Name] | None = Field(None, max_length=100)
    logbook: Name | None = None
    """One logbook, instead of `logbooks`."""
    entry_time: Time | None = None
    """RFC 3339; without an offset, in the source's zone."""
    event_time: Time | None = None
    kind: Kind = "logbook"
    shift: Name | None = None
    level: Name | None = None
    category: Name | None = None
    tags: Names = Field([])
    metadata: dict[str, Any] = Field({})
    reply_to: str | None = Field(None, min_length=1, max_length=255)
    """External id of the parent."""
    links: Annotated[list[LinkIn], FailFast()] = Field(
        [],
        max_length=100,
        json_schema_extra={
            "contains": {"properties": {"kind": {"const": "supersedes"}}},
            "minContains": 0,
            "maxContains": 1,
        },
    )
    """At most one `supersedes`; `reply_to` names the parent."""
    url: str | None = Field(None, max_length=4000)
    readers: list[Name] | None = Field(None, max_length=1000)
    visible_from: Time | None = None
    origin: Literal["human", "machine"] | None = None

    _bounded = model_validator(mode="before")(_few_fields)


def _of_patch(schema: JsonDict) -> None:
    """Describe a merge: any field of an entry, and null to take it away."""
    whole = EntryIn.model_json_schema(ref_template="#/components/schemas/{model}")
    fields = whole["properties"]
    schema["properties"] = {
        name: {"anyOf": [field, {"type": "null"}]} for name, field in fields.items()
    }
    schema["additionalProperties"] = False
    schema["examples"] = [{"text": "Arc in cavity 2.", "metadata": {"run": None}}]


class EntryPatch(RootModel[dict[str, Any]]):
    """What is to change of an entry, merged as RFC 7396 says."""

    model_config = ConfigDict(json_schema_extra=_of_patch)


class EntriesIn(RequestBody):
    """Many entries; each is judged alone unless `atomic`."""

    entries: Annotated[
        list[Any],
        WithJsonSchema(
            {
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/components/schemas/EntryIn"},
            }
        ),
    ] = Field(min_length=1)
    atomic: bool = False

    _bounded = model_validator(mode="before")(_few_fields)


def _shape(body: Any) -> str:
    return "many" if isinstance(body, dict) and "entries" in body else "one"


PushBody = Annotated[
    Annotated[EntryIn, Tag("one")] | Annotated[EntriesIn, Tag("many")],
    Discriminator(_shape),
]


class Entity(ResponseBody):
    """A device that the text names, and where."""

    kind: str
    name: str
    canonical: str


class TextsCut(BaseModel):
    """How many texts were cut, and by how many characters in all."""

    entries: int
    chars: int


class EntryOut(Body):
    """One entry, as received, with what was made of it."""

    entry_id: UUID
    source: str
    external_id: str
    source_uri: str
    permalink: str
    url: str | None
    kind: str
    logbooks: list[str]
    authors: list[str]
    title: str
    text: str
    text_format: str
    entry_time: datetime
    event_time: datetime | None
    modified_at: datetime
    received_at: datetime
    shift: str | None
    level: str | None
    category: str | None
    tags: list[str]
    metadata: dict[str, Any]
    entities: list[Entity]
    thread_id: UUID | None
    reply_to: str | None
    """Its parent's external id, where the caller may see the parent."""
    links: list[dict[str, Any]]
    attachments: list[AttachmentOut]
    language: str | None
    summary: str | None
    keywords: list[str]
    revision: int
    content_hash: str
    deleted: bool
    text_flags: list[str]
    stages: dict[str, Literal["done", "due", "leased", "quarantined", "skipped"]]
    skipped: dict[str, Literal["language", "machine"]] = Field({})
    """Why a stage had nothing to do, by stage."""
    origin: str
    source_removed: bool
    """Its source is configured no more, or off: it stays as last read."""
    readers: list[str] | None
    visible_from: datetime | None
    flags: list[str]
    """Oddities of the entry: with `text_cut` words at its end are not found, with
    `plain_split` none is found by another form, with `vectors_cut` its meaning is that
    of its beginning alone."""
    findings: dict[str, list[dict[str, Any]]] = Field({})
    """What stages found in it, by stage; lists leave it out."""
    cut: TextsCut | None = None
    """Of an entry that is read alone what was left off; lists tell it of all."""


class EntryPage(Body):
    """One page of entries, and how many there are in all."""

    items: list[EntryOut]
    """Texts are cut to 500 characters unless `detail` is `full`."""
    cut: TextsCut
    next_cursor: str | None
    total: int


class RevisionOut(BaseModel):
    """One state of an entry's content, and what it changed."""

    revision: int
    content_hash: str
    editor: str
    seen_at: datetime
    diff: str = Field(description="Unified diff of title and text.")


class RevisionPage(BaseModel):
    """Revisions, newest first."""

    items: list[RevisionOut]
    next_cursor: str | None


def revision_out(one: Revision, older: Revision | None) -> dict[str, Any]:
    """Return a revision's body; `older` is the one before it."""
    return dump_fields(
        RevisionOut,
        one,
        revision=one.number,
        content_hash=one.content_hash.hex(),
        diff=difference(older, one),
    )


def entry_out(
    entry: EntryView,
    known_stages: tuple[str, ...],
    template: str | None,
    linked: Sequence[tuple[str, UUID]],
    attached: Sequence[Attached],
    digest: Digest,
    *,
    source_removed: bool,
) -> dict[str, Any]:
    """Return an entry's body, ready to be written as JSON."""
    return dump_fields(
        EntryOut,
        entry,
        source_uri=source_uri(entry.tenant, entry.source, entry.external_id),
        permalink=permalink(entry.source, entry.external_id),
        url=entry.url or _from_template(template, entry.external_id),
        links=[{"kind": kind, "entry_id": str(other)} for kind, other in linked],
        attachments=[attachment_out(one) for one in attached],
        summary=digest.summary,
        keywords=list(digest.keywords),
        content_hash=entry.content_hash.hex(),
        deleted=entry.deleted_at is not None,
        stages=_stages(entry, known_stages, attached),
        skipped=entry.skipped_stages,
        source_removed=source_removed,
        flags=[*entry.flags, *entry.read_flags],
    )


def _stages(
    entry: EntryView, known: tuple[str, ...], attached: Sequence[Attached]
) -> dict[str, str]:
    stages: dict[str, str] = dict.fromkeys(known, "done")
    stages.update(dict.fromkeys(entry.skipped_stages, "skipped"))
    stages.update(entry.due_stages)
    if "metadata" in entry.due_stages:
        # The document is written once metadata has ended.
        stages["index"] = stages.get("index", "due").replace("done", "due")
    stages.update(dict.fromkeys(entry.quarantined_stages, "quarantined"))
    # One row of work for all files of the entry; each has come as far as it has.
    of_files = stages.pop(ATTACHMENTS_STAGE, "due")
    ends = {"stored": "done", "linked": "done", "failed": "quarantined"}
    return stages | {
        f"attachment:{one.id}": ends.get(one.state, of_files) for one in attached
    }


def _from_template(template: str | None, external_id: str) -> str | None:
    if not template or "{external_id}" not in template:
        return None
    return template.replace("{external_id}", quote(external_id, safe=""))
