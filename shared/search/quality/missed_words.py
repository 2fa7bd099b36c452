"""Words that people asked for and no entry has, by the device that they asked about.

Where they said it otherwise and were answered, that is proposed for the glossary, once
it was said often enough: an admin decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import Connection

from shared.errors import InvalidRequestError
from shared.glossary import glossary_terms
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_all
from shared.text.words.folding import fold_surface

log = get_logger()

# Times that a word is said otherwise, and answered, before it is proposed.
PROPOSE_AFTER = 3

MAX_WORD_CHARS, MOST_LISTED = 64, 200

_NOTE: LiteralString = """
    INSERT INTO unwritten_word AS u (tenant, word, device, instead)
    SELECT %(tenant)s, w.word, %(device)s, %(instead)s
      FROM unnest(%(words)s::text[]) AS w (word)
     ORDER BY w.word
        ON CONFLICT (tenant, word, device, instead) DO UPDATE
       SET asked = u.asked + 1, last_at = now()
    RETURNING u.word, u.asked"""
# A word that an entry has by now is left out.
_LIST: LiteralString = """
    SELECT u.word, u.device, u.asked, u.first_at, u.last_at,
           ARRAY (SELECT o.instead FROM unwritten_word o
                   WHERE o.tenant = %(tenant)s AND o.word = u.word AND o.instead <> ''
                   ORDER BY o.asked DESC, o.instead) AS instead
      FROM unwritten_word u
     WHERE u.tenant = %(tenant)s AND u.last_at >= %(since)s AND u.instead = ''
       AND NOT EXISTS (SELECT FROM lexeme l
                        WHERE l.tenant = %(tenant)s AND l.surface = u.word)
       AND NOT EXISTS (SELECT FROM ident i
                        WHERE i.tenant = %(tenant)s AND i.ident = u.word)
     ORDER BY u.asked DESC, u.word, u.device
     LIMIT %(most)s"""
_EXPIRE: LiteralString = """
    DELETE FROM unwritten_word WHERE last_at < now() - %(days)s * interval '1 day'"""


@dataclass(frozen=True, slots=True)
class UnwrittenWord:
    """A word that no entry has, how often it was asked for, and what replaced it."""

    word: str
    device: str
    asked: int
    instead: list[str]
    first_at: datetime
    last_at: datetime


def note_unwritten_words(
    conn: Connection, tenant: str, words: Sequence[str], devices: Sequence[str]
) -> None:
    """Count the words of a question that no entry has."""
    kept = sorted({one for word in words if (one := _word(word))})
    for device in sorted({*devices}) or [""]:
        if kept:
            given = {"tenant": tenant, "words": kept, "device": device, "instead": ""}
            conn.execute(_NOTE, given)


def note_other_words(
    conn: Connection, tenant: str, words: Sequence[str], instead: str
) -> None:
    """Count the word that was used instead; propose it once it was used often."""
    kept = sorted({one for word in words if (one := _word(word))})
    other = _word(instead)
    if not kept or not other or other in kept:
        return
    given = {"tenant": tenant, "words": kept, "device": "", "instead": other}
    for word, asked in conn.execute(_NOTE, given).fetchall():
        if asked == PROPOSE_AFTER:
            try:
                glossary_terms.propose(conn, tenant, word, [other], of_questions=True)
            except InvalidRequestError as exc:
                # A glossary that is full, or a word without a letter.
                log.info("unwritten_word_not_proposed", code=exc.error_code)


def list_unwritten_words(
    conn: Connection, tenant: str, since: datetime
) -> list[UnwrittenWord]:
    """Return the words that were asked for most, and that still nobody has written."""
    values = {"tenant": tenant, "since": since, "most": MOST_LISTED}
    return fetch_all(conn, UnwrittenWord, _LIST, values)


def expire_unwritten_words(conn: Connection, days: int) -> None:
    """Forget words that nobody has asked for in so many days."""
    conn.execute(_EXPIRE, {"days": days})


def _word(text: str) -> str:
    word = fold_surface(" ".join(text.split()), "en")
    return word if len(word) <= MAX_WORD_CHARS else ""
