"""Tells what the words of a question were expanded to, as far as a hit has it.

A pattern or a misspelt word stands for words of all the tenant's entries: a word, or a
form of it, that only hidden entries have is named to nobody.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, LiteralString, NamedTuple
from uuid import UUID

from shared.access import rights
from shared.access.scope import Scope
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.postgres.pool import Pool, format_array
from shared.postgres.statement_deadline import timed_connection
from shared.search.jobs.outcome import Diagnostic
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.compiled.conditions import Clause, iterate_leaves
from shared.search.query.compiled.word_clauses import Known
from shared.text.analysis.analyser import IDENT_PREFIX
from shared.text.facility.facility import Facility
from shared.text.words.folding import STEMMED_LANGUAGES, fold_surface, stem
from shared.vocabulary.expand import LANGUAGES, UNSTEMMED, Expansion, Want

log = get_logger()

FUZZY = "fuzzy_fallback"
# How many expansions are named for one word, and for how many words: of a thousand the
# commonest say enough.
MOST_NAMED, MOST_WORDS = 10, 10
_LOOK_UP_MS = 100
# So much of a hit is read for the forms in which its words are written.
_MOST_READ = 100_000
_WORD = re.compile(r"[^\W\d_]+")

How = Literal["pattern", "spelling", "glossary"]

_TERMS: LiteralString = f"""
    SELECT t.language,
           ARRAY(SELECT term
                   FROM unnest(tsvector_to_array(t.tsv)) AS term
                  WHERE term = ANY (%(terms)s::text[])) AS terms,
           CASE WHEN %(chars)s > 0
                THEN left(concat(r.title, ' ', coalesce(r.plain, r.text)), %(chars)s)
                ELSE '' END AS text
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      JOIN entry_text t ON t.entry_id = e.id AND t.tenant = %(tenant)s
     WHERE e.id = ANY (%(ids)s::uuid[]) AND e.tenant = %(tenant)s
       AND e.deleted_at IS NULL{rights.SEEN}
     LIMIT 1000"""


class Way(NamedTuple):
    """One expansion of a word, and the terms by which an entry has it."""

    word: str
    how: How
    told: str
    terms: tuple[str, ...]
    # The language of the entries that may have the terms; empty: any language.
    language: str = ""
    # False: entries that are seen have another form of it.
    is_written: bool = True


class _Hit(NamedTuple):
    language: str
    terms: frozenset[str]
    words: frozenset[str]

    def writes(self, way: Way) -> bool:
        return self.has(way) and (not _may_be_inflected(way) or way.told in self.words)

    def has(self, way: Way) -> bool:
        return way.language in {"", self.language} and self.terms.issuperset(way.terms)


@dataclass(frozen=True, slots=True)
class Became:
    """The expansions of a question's words that occur in hits the caller may see."""

    ways: tuple[Way, ...] = ()

    def known(self, looked_up: Known) -> Known:
        """Return the looked-up words without those that no visible hit has."""
        told = {(way.word, way.told) for way in self.ways}
        return {
            want: replace(
                found,
                stems={
                    language: tuple(x for x in terms if (want.text, x) in told)
                    for language, terms in found.stems.items()
                },
                idents=tuple(x for x in found.idents if (want.text, x) in told),
                spellings=tuple(x for x in found.spellings if (want.text, x) in told),
            )
            for want, found in looked_up.items()
        }

    def notes(self, given: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics with visible expansions named, and one about them."""
        notes = [self._named(one) if one.code == FUZZY else one for one in given]
        said = self._said("pattern", "glossary")
        if said:
            message = f"Searched for as well: {said}."
            one = Diagnostic("info", "query", "terms_expanded", message, "query")
            notes.append(one)
        return notes

    def _named(self, note: Diagnostic) -> Diagnostic:
        said = self._said("spelling")
        if not said:
            return note
        return replace(note, message=f"{note.message.removesuffix('.')}: {said}.")

    def _said(self, *hows: How) -> str:
        named: dict[str, dict[str, None]] = {}
        for way in self.ways:
            if way.how in hows and way.is_written:
                named.setdefault(way.word, {})[way.told] = None
        words = [
            f"`{word}` as {_listed(list(told))}"
            for word, told in list(named.items())[:MOST_WORDS]
        ]
        return "; ".join(words)


NOTHING = Became()


def ways_of(question: CompiledQuery, known: Known, facility: Facility) -> list[Way]:
    """Return all expansions of a question's words, visible in hits or not."""
    found = [way for want in known for way in _looked_up(want, known[want])]
    return [*found, *_of_glossary(question, facility)]


def load_visible_expansions(
    pool: Pool, scope: Scope, ways: Collection[Way], entry_ids: Sequence[str]
) -> Became:
    """Return the expansions that occur in those of these entries the caller may see."""
    if not ways or not entry_ids:
        return NOTHING
    given = {
        **scope.params,
        "terms": sorted({term for way in ways for term in way.terms}),
        "ids": format_array([UUID(one) for one in entry_ids]),
        "chars": _MOST_READ if any(map(_may_be_inflected, ways)) else 0,
    }
    try:
        with timed_connection(pool, _LOOK_UP_MS) as conn:
            # Planned with its terms, which the statement looks up as a set.
            rows = conn.execute(_TERMS, given, prepare=False).fetchall()
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # An expansion is told only when it is known to be visible.
        log.warning("expansions_not_looked_up", code=exc.error_code)
        return NOTHING
    hits = [_read_hit(*row) for row in rows]
    return Became(
        tuple(
            way._replace(is_written=any(one.writes(way) for one in hits))
            for way in ways
            if any(one.has(way) for one in hits)
        )
    )


def _read_hit(language: str, terms: list[str], text: str) -> _Hit:
    words = frozenset(fold_surface(one, language) for one in _WORD.findall(text))
    return _Hit(_named(language), frozenset(terms), words)


def _may_be_inflected(way: Way) -> bool:
    """Tell whether an entry may have the term of a spelling by another form of it."""
    return way.how == "spelling" and bool(way.language)


def _looked_up(want: Want, found: Expansion) -> Iterator[Way]:
    word = want.text
    for one in found.spellings:
        yield Way(word, "spelling", one, (IDENT_PREFIX + one,))
        for language in LANGUAGES:
            yield Way(word, "spelling", one, (stem(one, language),), language)
    for language, terms in found.stems.items():
        for one in terms:
            yield Way(word, "pattern", one, (one,), language)
    for one in found.idents:
        # An entry has a whole name as a term as well.
        yield Way(word, "pattern", one, (IDENT_PREFIX + one,))
        yield Way(word, "pattern", one, (one,))


def _of_glossary(question: CompiledQuery, facility: Facility) -> Iterator[Way]:
    if not facility.glossary:
        return
    for guard in question.guards:
        clauses = [
            leaf
            for leaf, is_wanted in iterate_leaves(guard.condition)
            if is_wanted and isinstance(leaf, Clause) and leaf.also
        ]
        for language in LANGUAGES:
            if language not in guard.languages:
                continue
            forms = synonyms.forms(language, facility)
            for clause in clauses:
                for form in forms.get(clause.lexemes[0], ()):
                    if set(form.others) <= set(clause.also):
                        yield from _of_form(form, language)


def _of_form(form: synonyms.Form, language: str) -> Iterator[Way]:
    for lexemes, called in zip(form.others, form.called, strict=True):
        yield Way(form.text, "glossary", called, lexemes, language)
        if len(lexemes) == 1:
            # A word may also be a part of a name, which entries have as an identifier.
            ident = IDENT_PREFIX + lexemes[0]
            yield Way(form.text, "glossary", called, (ident,), language)


def _named(language: str) -> str:
    return language if language in STEMMED_LANGUAGES else UNSTEMMED


def _listed(told: list[str]) -> str:
    more = len(told) - MOST_NAMED
    named = ", ".join(told[:MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named
