"""The words and names of entries, taken into the vocabulary in the entries' commit.

Most are there already, so each process remembers what it has seen there. What no entry
has any more is taken out by others (`counting.py`); every such walk has a number, and
a process that meets a new number forgets what it knew. A lock that learners share, and
whoever begins a walk has alone, sees to it that no learner is still trusting an older
number then.
"""

import threading
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import LiteralString

from psycopg import Connection

from shared.text.analysis.analyser import Analysis
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED

MAX_KNOWN = 65_536

# Two statements in one trip: the second must not see less than the lock waited for.
# A key of the database: 0x1090 and the room's number.
_LOCK_AND_WALK: LiteralString = """
    SELECT pg_advisory_xact_lock_shared(278529); SELECT walk FROM vocabulary"""
# Planned each time: a plan of empty tables goes on reading the whole of them.
# In order of the key, so that two learners never wait for each other; what is there
# and as new as this walk is not locked at all.
_LEARN_WORDS: LiteralString = """
    INSERT INTO lexeme AS l (tenant, language, surface, stem, walk)
    SELECT %(tenant)s, %(language)s, s.surface, s.stem, %(walk)s
      FROM unnest(%(surfaces)s::text[], %(stems)s::text[]) AS s (surface, stem)
     WHERE NOT EXISTS (
            SELECT FROM lexeme k
             WHERE k.tenant = %(tenant)s AND k.language = %(language)s
               AND k.surface = s.surface AND k.stem = s.stem AND k.walk >= %(walk)s)
     ORDER BY s.surface COLLATE "C"
        ON CONFLICT (tenant, language, surface) DO UPDATE
       SET stem = excluded.stem, walk = greatest(l.walk, excluded.walk),
           counted = CASE WHEN l.walk < excluded.walk THEN 0 ELSE l.counted END
     WHERE l.walk < excluded.walk OR l.stem <> excluded.stem"""
_LEARN_NAMES: LiteralString = """
    INSERT INTO ident AS i (tenant, ident, walk)
    SELECT %(tenant)s, s.ident, %(walk)s
      FROM unnest(%(idents)s::text[]) AS s (ident)
     WHERE NOT EXISTS (
            SELECT FROM ident k
             WHERE k.tenant = %(tenant)s AND k.ident = s.ident
               AND k.walk >= %(walk)s)
     ORDER BY s.ident COLLATE "C"
        ON CONFLICT (tenant, ident) DO UPDATE
       SET walk = excluded.walk, counted = 0
     WHERE i.walk < excluded.walk"""

# Whose words: a tenant's in a language; names have none.
_Place = tuple[str, str | None]


class SeenWords:
    """The words that a process has seen in the vocabulary; bounded, thread-safe."""

    def __init__(self, most: int = MAX_KNOWN) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._walk: int | None = None
        self._size = 0
        self._newer: dict[_Place, set[str]] = {}
        self._older: dict[_Place, set[str]] = {}

    def unknown(self, walk: int, place: _Place, terms: AbstractSet[str]) -> list[str]:
        """Return the terms not yet seen there during this walk, sorted."""
        with self._lock:
            if walk != self._walk:
                return sorted(terms)
            new = terms - self._newer.get(place, set())
            if again := new & self._older.get(place, set()):
                # What is met again comes back from the older ones.
                self._add(place, again)
                new -= again
        return sorted(new)

    def add(self, walk: int, place: _Place, terms: Iterable[str]) -> None:
        """Add committed terms, unless a newer walk has begun."""
        with self._lock:
            if self._walk is None or walk > self._walk:
                self._walk, self._size = walk, 0
                self._newer, self._older = {}, {}
            if walk == self._walk:
                self._add(place, terms)

    def _add(self, place: _Place, terms: Iterable[str]) -> None:
        some = self._newer.setdefault(place, set())
        before = len(some)
        some.update(terms)
        self._size += len(some) - before
        if self._size > self._most:
            self._older, self._newer, self._size = self._newer, {}, 0


@dataclass(frozen=True, slots=True)
class Learnt:
    """The words that a commit adds to the vocabulary."""

    known: SeenWords
    walk: int
    news: Mapping[_Place, Iterable[str]] = field(default_factory=dict)

    def remember(self) -> None:
        """Trust from now on that it is there: only after the commit."""
        for place, terms in self.news.items():
            self.known.add(self.walk, place, terms)


def language_of(language: str) -> str:
    """Return under which language words are kept: those without a stemmer are one."""
    return language if language in STEMMED_LANGUAGES else UNSTEMMED


def learn(
    conn: Connection,
    tenant: str,
    texts: Iterable[tuple[str, Analysis]],
    known: SeenWords,
) -> Learnt:
    """Add the words of these texts, by language, and their names to the vocabulary.

    To be called last in a transaction: it waits for who learns the same just now.
    """
    walk = _lock_and_walk(conn)
    stems: dict[str, dict[str, str]] = {}
    names: set[str] = set()
    for language, text in texts:
        stems.setdefault(language_of(language), {}).update(text.words)
        names.update(text.idents)
    news: dict[_Place, list[str]] = {}
    # All words before any name, and in order: so does everybody.
    for language, of_words in sorted(stems.items()):
        new = known.unknown(walk, (tenant, language), of_words.keys())
        news[tenant, language] = new
        if new:
            given = {"surfaces": new, "stems": [of_words[word] for word in new]}
            values = {"tenant": tenant, "walk": walk, "language": language, **given}
            conn.execute(_LEARN_WORDS, values, prepare=False)
    new = news[tenant, None] = known.unknown(walk, (tenant, None), names)
    if new:
        values = {"tenant": tenant, "walk": walk, "idents": new}
        conn.execute(_LEARN_NAMES, values, prepare=False)
    return Learnt(known, walk, news)


def _lock_and_walk(conn: Connection) -> int:
    # Two statements cannot be prepared as one.
    cursor = conn.execute(_LOCK_AND_WALK, prepare=False)
    cursor.nextset()
    row = cursor.fetchone()
    return int(row[0]) if row else 0
