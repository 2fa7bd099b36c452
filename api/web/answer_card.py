"""An answer as it is shown: its sentences, each mark a link to the words it cites."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from api.context import ApiContext
from api.entries.schemas.attachments import attachment_out
from api.web.entry_text import anchor_of, anchors
from shared.access.scope import Scope
from shared.entries.reading import readable_texts
from shared.entries.saving import attachment_rows
from shared.postgres.pool import connection

_MARK = re.compile(r"\[#([^\[\]\s]{1,140})\]")
_END = " .!?:;,"

# The words of an entry, by what names it.
Texts = Mapping[tuple[UUID, int], str]


@dataclass(frozen=True, slots=True)
class Reference:
    """One sentence that an answer cites, and where it stands, marked."""

    number: int
    quote: str
    title: str
    revision: int
    # Below the base path: permalink, revision and the sentence.
    path: str
    entry_time: str | None
    author: str | None
    changed_since: str | None
    removed_at: str | None


@dataclass(slots=True)
class AnswerCard:
    """An answer as stretches of text and numbers of references."""

    paragraphs: list[list[str | Reference]] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    # The first picture of each hit that has one, by entry.
    pictures: dict[str, dict[str, Any]] = field(default_factory=dict)
    # The cards of things and threads, each line with the address of its sentence.
    things: list[dict[str, Any]] = field(default_factory=list)

    @property
    def entries(self) -> int:
        """Return how many entries the answer cites."""
        return len({one.path.partition("#")[0] for one in self.references})


def make_card(
    ctx: ApiContext,
    scope: Scope,
    body: Mapping[str, Any],
    hits: Sequence[Mapping[str, Any]],
) -> AnswerCard:
    """Return the card of a search's answer, the cards of its things, and pictures."""
    things: Sequence[Mapping[str, Any]] = body.get("cards", ())
    told = [*body["citations"], *(line for one in things for line in one["lines"])]
    cited = {(UUID(one["entry_id"]), one["revision"]) for one in told}
    ids = [UUID(one["entry_id"]) for one in hits]
    if not (cited or ids):
        return compose_card(body, {})
    with connection(ctx.pool) as conn:
        texts = readable_texts.load_readable_texts(conn, scope, sorted(cited))
        files = attachment_rows.load_attachments(conn, scope.tenant, ids)
    places = _Places(texts)
    card = compose_card(body, texts, places)
    for entry_id, attached in files.items():
        shown = (one for one in map(attachment_out, attached) if one["thumbnail"])
        if first := next(shown, None):
            card.pictures[str(entry_id)] = first
    card.things = [_with_addresses(one, places) for one in things]
    return card


class _Places:
    """The places of sentences in cited texts; each text is split once a page."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._starts: dict[tuple[UUID, int], list[int]] = {}

    def find_anchor(self, cited: Mapping[str, Any], start: int | None) -> str:
        """Return the anchor of what begins there in a cited revision."""
        name = (UUID(cited["entry_id"]), cited["revision"])
        if name not in self._starts:
            self._starts[name] = anchors(self._texts.get(name, ""))
        return anchor_of(self._starts[name], start)


def compose_card(
    body: Mapping[str, Any], texts: Texts, places: _Places | None = None
) -> AnswerCard:
    """Put an answer together with what it cites, as far as its words are at hand."""
    card = AnswerCard()
    if not body["answer"]:
        return card
    finder = _Finder(body, texts, places or _Places(texts))
    known: dict[str, Reference] = {}
    for paragraph in body["answer"].split("\n\n"):
        pieces: list[str | Reference] = []
        at = 0
        for mark in _MARK.finditer(paragraph):
            said = paragraph[at : mark.start()]
            found = finder.find(mark[1], said, len(known) + 1)
            pieces.append(said)
            at = mark.end()
            if found is None:
                pieces.append(mark[0])
                continue
            reference = known.setdefault(found.path, found)
            pieces.append(reference)
        pieces.append(paragraph[at:])
        card.paragraphs.append([one for one in pieces if one])
    card.references = list(known.values())
    return card


def _with_addresses(thing: Mapping[str, Any], places: _Places) -> dict[str, Any]:
    """Return a card of a thing whose lines lead to the sentences that they quote."""
    lines = []
    for one in thing["lines"]:
        anchor = places.find_anchor(one, one["start"])
        path = f"{one['permalink']}@{one['revision']}#{anchor}"
        lines.append({**one, "path": path})
    return {**thing, "lines": lines}


class _Finder:
    def __init__(self, body: Mapping[str, Any], texts: Texts, places: _Places) -> None:
        self._cited = {
            f"{one['label']}@{one['revision']}": one for one in body["citations"]
        }
        self._evidence: Sequence[Mapping[str, Any]] = body["context_answer"]["evidence"]
        self._texts = texts
        self._places = places

    def find(self, label: str, said: str, number: int) -> Reference | None:
        """Return the reference of a mark behind these words."""
        cited = self._cited.get(label)
        if cited is None:
            return None
        quote, start = self._quoted(cited, said)
        anchor = self._places.find_anchor(cited, start)
        return Reference(
            number=number,
            quote=quote,
            title=cited["title"],
            revision=cited["revision"],
            path=f"{cited['permalink']}@{cited['revision']}#{anchor}",
            entry_time=cited.get("entry_time"),
            author=cited.get("author"),
            changed_since=cited.get("changed_since"),
            removed_at=cited.get("removed_at"),
        )

    def _quoted(self, cited: Mapping[str, Any], said: str) -> tuple[str, int | None]:
        """Return the words that are cited, and where in the entry they begin."""
        told = " ".join(said.split())
        for one in self._evidence:
            quote = " ".join(one["quote"].split()).rstrip(_END)
            if one["entry_id"] == cited["entry_id"] and quote in told:
                return one["quote"], one["start"]
        # More is cited than is listed as evidence: the first words of it are.
        name = (UUID(cited["entry_id"]), cited["revision"])
        at = self._texts.get(name, "").find(cited["quote"])
        return cited["quote"], at if at >= 0 else None
