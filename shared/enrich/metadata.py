"""The metadata stage: language, terms and names of an entry, kept beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.broker import DUPLICATES_STAGE, METADATA_STAGE
from shared.due import rows as due
from shared.enrich import facts, findings
from shared.enrich.facts import Found
from shared.enrich.places import places
from shared.entries.entry import INDEX_STAGE
from shared.entries.reading import Content
from shared.log import get_logger
from shared.text import languages, markup
from shared.text.analyser import (
    Analysis,
    Sections,
    analyse,
    plain_split,
    version_of,
)
from shared.text.facility import PLAIN, Facility
from shared.text.facts import THINGS, Fact
from shared.text.runs import Token
from shared.vocabulary import learning
from shared.vocabulary.learning import Known, Learnt

log = get_logger()

# Written like devices, and none.
_SUBSTANCES = frozenset({"co2", "h2o", "sf6", "n2", "o2", "h2", "he3", "he4", "ln2"})
_MIN_DEVICE_LETTERS = 2
# Flags of an entry: what is past the limit of both engines is not found, and no word
# is found by another form of it.
TEXT_CUT, PLAIN_SPLIT = "text_cut", "plain_split"


@dataclass(frozen=True, slots=True)
class Extracted:
    """What the stage found in one revision."""

    language: str
    analysis: Analysis
    # Of the analyser and of what the facility's file says.
    version: int
    entities: list[dict[str, Any]]
    known: Found
    # Of the rules and lists that facts are found by.
    facts_version: int

    @property
    def flags(self) -> list[str]:
        """What readers are told of how the text was read."""
        told = {TEXT_CUT: self.analysis.cut, PLAIN_SPLIT: self.analysis.plain}
        return [flag for flag, holds in told.items() if holds]


# The entry's row first, as everybody locks it first: an edit waits or is seen.
_LOCK_ENTRY: LiteralString = """
    SELECT revision FROM entry
     WHERE id = %(entry_id)s AND tenant = %(tenant)s
       FOR NO KEY UPDATE"""

_KNOWN: LiteralString = """
    SELECT stream = %(stream)s AND idents = %(idents)s AND language = %(language)s
      FROM entry_text
     WHERE entry_id = %(entry_id)s AND tenant = %(tenant)s
       AND revision = %(revision)s"""

_STORE_TEXT: LiteralString = """
    INSERT INTO entry_text (entry_id, tenant, revision, language, analyser_version,
                            stream, idents, tsv, plain)
    VALUES (%(entry_id)s, %(tenant)s, %(revision)s, %(language)s, %(version)s,
            %(stream)s, %(idents)s, %(tsv)s::tsvector, %(plain)s)
        ON CONFLICT (entry_id) DO UPDATE
       SET revision = excluded.revision, language = excluded.language,
           analyser_version = excluded.analyser_version, stream = excluded.stream,
           idents = excluded.idents, tsv = excluded.tsv, plain = excluded.plain
     WHERE excluded.revision >= entry_text.revision
       AND entry_text.tenant = excluded.tenant"""

_STORE_METADATA: LiteralString = """
    INSERT INTO entry_metadata (entry_id, tenant, revision, language, entities, flags)
    VALUES (%(entry_id)s, %(tenant)s, %(revision)s, %(language)s, %(entities)s::jsonb,
            %(flags)s)
        ON CONFLICT (entry_id) DO UPDATE
       SET revision = excluded.revision, language = excluded.language,
           entities = excluded.entities, flags = excluded.flags, updated_at = now()
     WHERE excluded.revision >= entry_metadata.revision
       AND entry_metadata.tenant = excluded.tenant"""

# The same revision read anew: without a newer version the index would keep the old.
_SHOWN_ANEW: LiteralString = """
    UPDATE entry SET doc_version = doc_version + 1
     WHERE id = %(entry_id)s AND tenant = %(tenant)s"""


def extract(
    content: Content,
    expected_language: str | None,
    facility: Facility = PLAIN,
    attachments: Sequence[str] = (),
) -> Extracted:
    """Return what is found in an entry; analysis that fails leaves a plain split."""
    # Of what an older release has written, the marks are still there.
    text = markup.to_plain(content.text, content.text_format)
    sections = sections_of(content, text, attachments)
    try:
        language = languages.of_entry(
            content.title, text, told=content.said_language, expected=expected_language
        )
        analysis = analyse(sections, language, facility)
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError):
        # Findable without stems is better than not findable; the row says so.
        log.exception("analysis_failed", entry_id=str(content.entry_id))
        # Words as they stand are compared as those of a language without stems are.
        language = languages.UNKNOWN
        analysis = plain_split(sections)
    if analysis.cut:
        log.warning(TEXT_CUT, entry_id=str(content.entry_id))
    marked = content.marked or content.text
    names = tuple(name for name in analysis.names if _is_entity(name, text))
    known = facts.find(content, text, names, language, facility)
    entities = [*_entities(text, names, marked), *_listed(known.facts, marked)]
    return Extracted(
        language,
        analysis,
        version_of(facility),
        entities,
        known,
        facts.version_of(facility),
    )


def sections_of(
    content: Content, text: str, attachments: Sequence[str] = ()
) -> Sections:
    """Return what of an entry is read, in the order of the stream."""
    lists = content.tags, content.authors, content.words_found
    return Sections(content.title, text, *lists, attachments)


def store(
    conn: Connection[TupleRow],
    content: Content,
    found: Extracted,
    vocabulary: Known | None = None,
    *,
    work_class: int = due.LIVE,
    following: Sequence[str] = (INDEX_STAGE, DUPLICATES_STAGE),
) -> Learnt | None:
    """Keep what was found, make due what is made of it; idempotent.

    None, and nothing is written, if the entry has moved on meanwhile. What was learnt
    may be remembered once it is committed.
    """
    key = {"entry_id": content.entry_id, "tenant": content.tenant}
    locked = conn.execute(_LOCK_ENTRY, key).fetchone()
    if locked is None or locked[0] != content.revision:
        return None
    known = found.known
    is_new = findings.store(
        conn,
        {**key, "revision": content.revision},
        METADATA_STAGE,
        version=found.facts_version,
        # It reads all that an entry is.
        inputs=b"",
        facts=known.facts,
        people=known.people,
    )
    findings.store_quantities(conn, key, known.quantities)
    others = findings.terms_of_others(conn, key, METADATA_STAGE)
    terms = findings.lexemes([*findings.terms_of(known.facts), *others])
    row = {
        **key,
        "revision": content.revision,
        "language": found.language,
        "version": found.version,
        "stream": found.analysis.stream,
        "idents": found.analysis.idents,
        "tsv": f"{found.analysis.tsvector_literal} {terms}",
        "plain": found.analysis.plain,
        "flags": found.flags,
    }
    same = conn.execute(_KNOWN, row).fetchone()
    if same is not None and (is_new or not same[0]):
        conn.execute(_SHOWN_ANEW, key)
    conn.execute(_STORE_TEXT, row)
    conn.execute(_STORE_METADATA, {**row, "entities": json.dumps(found.entities)})
    due.add(
        conn,
        content.tenant,
        [content.entry_id],
        following,
        work_class=work_class,
    )
    # Last: who waits for the words of another entry has nothing left to lock.
    analysis = found.analysis
    return learning.learn(
        conn,
        content.tenant,
        found.language,
        analysis.words,
        analysis.idents,
        vocabulary or Known(),
    )


def _entities(text: str, names: Iterable[Token], marked: str) -> list[dict[str, Any]]:
    """Return what a text calls by name, and where in the text as it came."""
    tokens = list(names)
    written = [text[token.start : token.end] for token in tokens]
    found: list[tuple[int, int] | None] = [(one.start, one.end) for one in tokens]
    if marked != text:
        found = places(written, marked)
    return [
        {
            "kind": token.kind,
            "name": name,
            "canonical": token.term,
            **(dict(zip(("start", "end"), place, strict=True)) if place else {}),
        }
        for token, name, place in zip(tokens, written, found, strict=True)
    ]


def _listed(known: Iterable[Fact], marked: str) -> list[dict[str, Any]]:
    """Return the systems and devices of the facility's list, and how each was found."""
    return [
        {
            "kind": fact.field,
            "name": marked[fact.start : fact.end],
            "canonical": fact.value,
            "how": fact.how,
            "start": fact.start,
            "end": fact.end,
        }
        for fact in known
        if fact.field in THINGS and fact.how != "form" and fact.start is not None
    ]


def _is_entity(token: Token, text: str) -> bool:
    """Whether a name is one for readers too: `CO2` and `x1` are found, not shown."""
    if token.kind != "device":
        return True
    letters = re.match(r"[A-Za-z]*", text[token.start : token.end])
    return (
        letters is not None
        and len(letters[0]) >= _MIN_DEVICE_LETTERS
        and token.term not in _SUBSTANCES
    )
