"""The metadata stage: language, terms and names of entries, kept beside them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich import entry_facts, findings
from shared.enrich.entry_facts import EntryFacts
from shared.enrich.findings import StageFindings
from shared.enrich.source_positions import locate_names
from shared.entries.reading.read_entries import Content
from shared.log import get_logger
from shared.messaging.stage_names import DUPLICATES_STAGE, INDEX_STAGE, METADATA_STAGE
from shared.settings.text_expectations import Expected
from shared.text import plain_text
from shared.text.analysis.analyser import (
    Analysis,
    Sections,
    analyse,
    plain_split,
    version_of,
)
from shared.text.facility.facility import PLAIN, Facility
from shared.text.facts import THINGS, Fact
from shared.text.reading.typed_metadata import NOTHING, Declared
from shared.text.words import languages
from shared.text.words.character_runs import Token
from shared.text.words.numerals import DecimalMark
from shared.vocabulary import learn_words
from shared.vocabulary.counting_words import is_counted
from shared.vocabulary.learn_words import Learnt, SeenWords
from shared.work import due_work as due

log = get_logger()

# Written like devices, and none.
_MIN_DEVICE_LETTERS = 2
# `elog:2` is a link to a message of an ELOG.
_LINK = "elog:"
# Flags of an entry: what is past the limit of both engines is not found, and no word
# is found by another form of it.
TEXT_CUT, PLAIN_SPLIT = "text_cut", "plain_split"


@dataclass(frozen=True, slots=True)
class Extracted:
    """Language, terms, names and facts that the stage found in one revision."""

    language: str
    analysis: Analysis
    # The version of the analyser and of the terms in the facility's file.
    version: int
    entities: list[dict[str, Any]]
    known: EntryFacts
    # The version of the rules and lists that find facts.
    facts_version: int

    @property
    def flags(self) -> list[str]:
        """Return the flags that tell readers how the text was read."""
        told = {TEXT_CUT: self.analysis.cut, PLAIN_SPLIT: self.analysis.plain}
        return [flag for flag, holds in told.items() if holds]


# The entries' rows first, as everybody locks them first: an edit waits or is seen.
_LOCK_ENTRIES: LiteralString = """
    SELECT id, revision FROM entry
     WHERE id = ANY(%(ids)s) AND tenant = %(tenant)s
     ORDER BY id
       FOR NO KEY UPDATE"""

# The same revision read anew gets a newer version: without, the index would keep the
# old. As JSON, for no array holds arrays of different lengths.
_STORE: LiteralString = """
    WITH given AS MATERIALIZED (
        SELECT g.entry_id, g.revision, g.language, g.version, g.stream, g.idents,
               g.tsv, g.plain, g.entities, g.flags, g.is_told_anew
          FROM json_to_recordset(%(rows)s::json) AS g (
            entry_id uuid, revision integer, language text, version integer,
            stream text, idents text[], tsv tsvector, plain boolean, entities jsonb,
            flags text[], is_told_anew boolean)),
    shown_anew AS (
        UPDATE entry e SET doc_version = e.doc_version + 1
          FROM given g
          JOIN entry_text t ON t.entry_id = g.entry_id
         WHERE t.tenant = %(tenant)s AND t.revision = g.revision
           AND (g.is_told_anew OR t.stream <> g.stream OR t.idents <> g.idents
                OR t.language <> g.language)
           AND e.id = g.entry_id AND e.tenant = %(tenant)s),
    texts AS (
        INSERT INTO entry_text (entry_id, tenant, revision, language,
                                analyser_version, stream, idents, tsv, plain)
        SELECT g.entry_id, %(tenant)s, g.revision, g.language, g.version, g.stream,
               g.idents, g.tsv, g.plain
          FROM given g
         ORDER BY g.entry_id
            ON CONFLICT (entry_id) DO UPDATE
           SET revision = excluded.revision, language = excluded.language,
               analyser_version = excluded.analyser_version,
               stream = excluded.stream, idents = excluded.idents, tsv = excluded.tsv,
               plain = excluded.plain
         WHERE excluded.revision >= entry_text.revision
           AND entry_text.tenant = excluded.tenant)
    INSERT INTO entry_metadata (entry_id, tenant, revision, language, entities, flags)
    SELECT g.entry_id, %(tenant)s, g.revision, g.language, g.entities, g.flags
      FROM given g
     ORDER BY g.entry_id
        ON CONFLICT (entry_id) DO UPDATE
       SET revision = excluded.revision, language = excluded.language,
           entities = excluded.entities, flags = excluded.flags, updated_at = now()
     WHERE excluded.revision >= entry_metadata.revision
       AND entry_metadata.tenant = excluded.tenant"""


def extract(
    content: Content,
    expected_language: str | None,
    facility: Facility = PLAIN,
    attachments: Sequence[str] = (),
    decimal_mark: DecimalMark | None = None,
    declared: Declared = NOTHING,
) -> Extracted:
    """Analyse an entry; if analysis fails, its words are stored as a plain split."""
    # Text that an older release has stored still has its markup.
    text = plain_text.to_plain(content.text, content.text_format)
    sections = sections_of(content, text, attachments)
    try:
        language = languages.find_entry_language(
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
    own = {one.start for one in facility.named(text)} if facility.names else set()
    names = tuple(
        name
        for name in analysis.names
        if _is_entity(name, text)
        # What the facility itself calls so is one.
        and (name.start in own or not is_counted(text[name.start : name.end]))
    )
    known = entry_facts.find(
        content, text, names, language, facility, decimal_mark, declared
    )
    entities = [*_entities(text, names, marked), *_listed(known.facts, marked)]
    return Extracted(
        language,
        analysis,
        version_of(facility),
        entities,
        known,
        entry_facts.version_of(
            facility,
            Expected(expected_language, decimal_mark, declared.kinds, declared.zone),
        ),
    )


def sections_of(
    content: Content, text: str, attachments: Sequence[str] = ()
) -> Sections:
    """Return the searchable sections of an entry, in the order of the stream."""
    lists = content.tags, content.authors, content.words_found
    return Sections(content.title, text, *lists, attachments)


def store(
    conn: Connection,
    content: Content,
    found: Extracted,
    vocabulary: SeenWords | None = None,
    *,
    work_class: int = due.LIVE,
    following: Sequence[str] = (INDEX_STAGE, DUPLICATES_STAGE),
) -> Learnt | None:
    """Store the findings of one entry, as `store_all` does for many."""
    return store_all(
        conn,
        content.tenant,
        [(content, found)],
        vocabulary,
        work_class=work_class,
        following=following,
    )


def store_all(
    conn: Connection,
    tenant: str,
    extracted: Iterable[tuple[Content, Extracted]],
    vocabulary: SeenWords | None = None,
    *,
    work_class: int = due.LIVE,
    following: Sequence[str] = (INDEX_STAGE, DUPLICATES_STAGE),
) -> Learnt | None:
    """Store the findings and make the stages behind them due; idempotent.

    Nothing is written of an entry that has moved on meanwhile; None: all of them have.
    What was learnt may be remembered once it is committed.
    """
    by_id = {content.entry_id: (content, found) for content, found in extracted}
    asked = {"tenant": tenant, "ids": sorted(by_id)}
    # Planned each time, as all that looks for many: a plan of tables that were small
    # goes on reading the whole of them while they grow.
    locked = conn.execute(_LOCK_ENTRIES, asked, prepare=False).fetchall()
    current = {
        one: by_id[one][1]
        for one, revision in locked
        if revision == by_id[one][0].revision
    }
    if not current:
        return None
    _store_current(conn, tenant, dict(locked), current)
    due.add(conn, tenant, current, following, work_class=work_class)
    # Last: who waits for the words of another entry has nothing left to lock.
    return learn_words.learn(
        conn,
        tenant,
        [(found.language, found.analysis) for found in current.values()],
        vocabulary or SeenWords(),
    )


def _store_current(
    conn: Connection,
    tenant: str,
    revisions: Mapping[UUID, int],
    current: Mapping[UUID, Extracted],
) -> None:
    """Store the findings of entries whose rows are locked."""
    terms = {
        one: findings.terms_of(found.known.facts) for one, found in current.items()
    }
    told = [
        StageFindings(
            one,
            revisions[one],
            found.facts_version,
            facts=found.known.facts,
            terms=terms[one],
            people=found.known.people,
        )
        for one, found in current.items()
    ]
    told_anew = findings.store(conn, tenant, METADATA_STAGE, told)
    quantities = {one: found.known.quantities for one, found in current.items()}
    findings.store_quantities(conn, tenant, quantities)
    others = findings.terms_of_others(conn, tenant, METADATA_STAGE, [*current])
    rows = [
        {
            "entry_id": str(one),
            "revision": revisions[one],
            "is_told_anew": one in told_anew,
            **_row(found, [*terms[one], *others.get(one, [])]),
        }
        for one, found in current.items()
    ]
    conn.execute(_STORE, {"tenant": tenant, "rows": json.dumps(rows)}, prepare=False)


def _row(found: Extracted, terms: Sequence[str]) -> dict[str, Any]:
    analysis = found.analysis
    return {
        "language": found.language,
        "version": found.version,
        "stream": analysis.stream,
        "idents": analysis.idents,
        "tsv": f"{analysis.tsvector_literal} {findings.lexemes(terms)}",
        "plain": analysis.plain,
        "entities": found.entities,
        "flags": found.flags,
    }


def _entities(text: str, names: Iterable[Token], marked: str) -> list[dict[str, Any]]:
    """Return the names in a text, each with its place in the text as it came."""
    tokens = list(names)
    written = [text[token.start : token.end] for token in tokens]
    found: list[tuple[int, int] | None] = [(one.start, one.end) for one in tokens]
    if marked != text:
        found = locate_names(written, marked)
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
    """Tell whether readers are shown a name: `CO2` and `x1` are only searched for."""
    written = text[token.start : token.end]
    if written.lower().startswith(_LINK):
        return False
    if token.kind != "device":
        return token.kind != "substance"
    letters = re.match(r"[A-Za-z]*", written)
    return letters is not None and len(letters[0]) >= _MIN_DEVICE_LETTERS
