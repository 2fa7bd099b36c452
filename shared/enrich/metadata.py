"""The metadata stage: language, terms and names of an entry, kept beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import rows as due
from shared.enrich.places import places
from shared.entries.entry import INDEX_STAGE
from shared.entries.reading import Content
from shared.log import get_logger
from shared.text import languages, markup
from shared.text.analyser import (
    ANALYSER_VERSION,
    Analysis,
    Sections,
    analyse,
    plain_split,
)
from shared.text.tokens import Token

log = get_logger()

# Written like devices, and none.
_SUBSTANCES = frozenset({"co2", "h2o", "sf6", "n2", "o2", "h2", "he3", "he4", "ln2"})
_MIN_DEVICE_LETTERS = 2


@dataclass(frozen=True, slots=True)
class Extracted:
    """What the stage found in one revision."""

    language: str
    analysis: Analysis
    entities: list[dict[str, Any]]


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
    INSERT INTO entry_metadata (entry_id, tenant, revision, language, entities)
    VALUES (%(entry_id)s, %(tenant)s, %(revision)s, %(language)s, %(entities)s::jsonb)
        ON CONFLICT (entry_id) DO UPDATE
       SET revision = excluded.revision, language = excluded.language,
           entities = excluded.entities, updated_at = now()
     WHERE excluded.revision >= entry_metadata.revision
       AND entry_metadata.tenant = excluded.tenant"""

# The same revision read anew: without a newer version the index would keep the old.
_SHOWN_ANEW: LiteralString = """
    UPDATE entry SET doc_version = doc_version + 1
     WHERE id = %(entry_id)s AND tenant = %(tenant)s"""


def extract(content: Content, expected_language: str | None) -> Extracted:
    """Return what is found in an entry; analysis that fails leaves a plain split."""
    # Of what an older release has written, the marks are still there.
    text = markup.to_plain(content.text, content.text_format)
    sections = Sections(content.title, text, content.tags, content.authors)
    try:
        language = languages.detect(f"{content.title}\n{text}", expected_language)
        analysis = analyse(sections, language)
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError):
        # Findable without stems is better than not findable; the row says so.
        log.exception("analysis_failed", entry_id=str(content.entry_id))
        # Words as they stand are compared as those of a language without stems are.
        language = languages.UNKNOWN
        analysis = plain_split(sections)
    if analysis.cut:
        log.warning("text_cut", entry_id=str(content.entry_id))
    marked = content.marked or content.text
    return Extracted(language, analysis, _entities(text, analysis.names, marked))


def store(
    conn: Connection[TupleRow],
    content: Content,
    found: Extracted,
    *,
    work_class: int = due.LIVE,
) -> bool:
    """Keep what was found and make the document due; idempotent.

    False, and nothing is written, if the entry has moved on meanwhile.
    """
    key = {"entry_id": content.entry_id, "tenant": content.tenant}
    locked = conn.execute(_LOCK_ENTRY, key).fetchone()
    if locked is None or locked[0] != content.revision:
        return False
    row = {
        **key,
        "revision": content.revision,
        "language": found.language,
        "version": ANALYSER_VERSION,
        "stream": found.analysis.stream,
        "idents": found.analysis.idents,
        "tsv": found.analysis.tsvector_literal,
        "plain": found.analysis.plain,
    }
    known = conn.execute(_KNOWN, row).fetchone()
    if known is not None and not known[0]:
        conn.execute(_SHOWN_ANEW, key)
    conn.execute(_STORE_TEXT, row)
    conn.execute(_STORE_METADATA, {**row, "entities": json.dumps(found.entities)})
    due.add(
        conn, content.tenant, [content.entry_id], [INDEX_STAGE], work_class=work_class
    )
    return True


def _entities(text: str, names: Iterable[Token], marked: str) -> list[dict[str, Any]]:
    """Return what a text calls by name, and where in the text as it came."""
    tokens = [token for token in names if _is_entity(token, text)]
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
