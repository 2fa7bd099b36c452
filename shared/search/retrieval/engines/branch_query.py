"""The question of a branch: compiled once, and tried wider where it finds nothing.

Patterns are looked up by the branch that compares them, in one statement, and what is
perhaps misspelt only once nothing was found: a question of plain words, as most are,
asks the vocabulary nothing. What a fallback would look up again is read anew there.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, TypeVar

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.postgres import statement_deadline
from shared.postgres.pool import pipelined_connection
from shared.search.jobs.outcome import Diagnostic
from shared.search.query.compiled import (
    compiled_question,
    conditions,
    expandable_words,
    tsquery,
)
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.compiled.word_clauses import Known
from shared.search.query.plan import Plan
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary import expand

log = get_logger()

T = TypeVar("T")

# All words of so long a question stood together for 9 of 225 questions of Cranfield.
_LONG_WORDS = 6

_SAID = {
    "fuzzy_fallback": "No entry has all the words as they are spelt; these have words "
    "that are spelt nearly so.",
    "relaxed_to_any_term": "No entry has all the words; these have some of them.",
}


class WordMeasure(TypedDict):
    """How many words a good match has, and whether each hit has them all."""

    words: int
    whole: bool


@dataclass(frozen=True, slots=True)
class BranchQuery:
    """A question as its plan has it, with what its patterns stand for."""

    plan: Plan
    lexicon: Lexicon
    question: CompiledQuery
    known: Known = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    # For which it was compiled; none: for every one.
    languages: tuple[str, ...] = ()
    # What may be misspelt, and for what; None: not looked up yet.
    spelt: Known | None = None

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is excluded, by words or by fields."""
        return not self.question.kept().guards

    @property
    def is_exact(self) -> bool:
        """Whether each hit has a name, a phrase or a field that is asked for."""
        return self.plan.words.by_field or self.question.is_exact

    def measure(self, notes: Iterable[Diagnostic]) -> WordMeasure:
        """Return by how much its hits are measured; the notes say if it was widened."""
        any_word = self.plan.words.any_word
        count = functools.partial(conditions.count_words, any_word=any_word)
        asked = (guard.condition for guard in self.question.guards)
        # Of the language that leaves most of them out as words that join others.
        words = max(1, min(map(count, asked), default=1))
        was_widened = any(note.code in _SAID for note in notes)
        return {
            "words": words,
            "whole": not was_widened and (words == 1 or not any_word),
        }

    @property
    def is_long(self) -> bool:
        """Whether so many words are asked for that hardly any entry has them all."""
        if self.plan.words.any_word:
            return False
        words = (
            conditions.plain_words(guard.condition) for guard in self.question.guards
        )
        # Of the language that leaves most of them out as words that join others.
        return min(words, default=0) >= _LONG_WORDS

    @property
    def params(self) -> dict[str, Any]:
        """Return what every statement of a search takes; nothing excluded is shown."""
        return {
            **self.plan.scope.params,
            **self.plan.filters.params,
            "kept": queries(self.question.kept()),
            "fields": fields(self.question),
            "stemmed": sorted(STEMMED_LANGUAGES),
        }


def build_branch_query(
    ask: Ask, lexicon: Lexicon, module: str, languages: tuple[str, ...] = ()
) -> BranchQuery:
    """Return the branch's question, with all that its patterns stand for.

    For these languages, where it is known that there are entries in no others.
    """
    wanted = expandable_words.patterns(ask.plan.tree)
    known = _looked_up(ask, lexicon, wanted) if wanted else {}
    compiled = _compiled(ask.plan, lexicon, known, languages)
    dropped = left_out(module, compiled)
    notes = [] if dropped is None else [dropped]
    if any(found.capped for found in known.values()):
        said = "A pattern stands for too many words; the commonest are searched for."
        notes.append(_note(module, "wildcard_capped", said, level="warning"))
    return BranchQuery(ask.plan, lexicon, compiled, known, tuple(notes), languages)


def left_out(module: str, compiled: CompiledQuery) -> Diagnostic | None:
    """Return how many words a question was too long for, if it was."""
    if not compiled.dropped:
        return None
    said = f"{compiled.dropped} words beyond the limit were left out."
    return _note(module, "terms_dropped", said, level="warning")


def of_known(
    ask: Ask, lexicon: Lexicon, known: Known, languages: tuple[str, ...] = ()
) -> BranchQuery:
    """Return a branch's question of what was looked up already: nobody is asked."""
    spelt = {want: found for want, found in known.items() if want.kind == "typo"}
    patterns = {want: found for want, found in known.items() if want not in spelt}
    compiled = _compiled(ask.plan, lexicon, patterns, languages)
    return BranchQuery(
        ask.plan, lexicon, compiled, patterns, languages=languages, spelt=spelt
    )


def by_all_words(ask: Ask, lexicon: Lexicon, module: str) -> BranchQuery:
    """Return the question as it is counted: what has one word of many only ranks."""
    counted = replace(ask, plan=_by_all(ask.plan))
    return build_branch_query(counted, lexicon, module)


def with_all(asked: BranchQuery) -> CompiledQuery:
    """Return a question as it is where one word of many is not enough."""
    plan = _by_all(asked.plan)
    return _compiled(plan, asked.lexicon, asked.known, asked.languages)


def _by_all(plan: Plan) -> Plan:
    """Return a plan in which one word of many is not enough."""
    return replace(plan, words=replace(plan.words, any_word=False))


def kept_of(ask: Ask, lexicon: Lexicon, module: str) -> BranchQuery:
    """Return what a branch keeps to that compares no words, asked for only if need be.

    Of words that are wanted it needs none, and so no pattern's words either.
    """
    if expandable_words.excludes(ask.plan.tree):
        return build_branch_query(ask, lexicon, module)
    return BranchQuery(ask.plan, lexicon, compiled_question.NOTHING_ASKED)


def first_found(
    ask: Ask,
    asked: BranchQuery,
    module: str,
    search: Callable[[CompiledQuery], T],
    following: Iterable[tuple[str, CompiledQuery]] | None = None,
) -> tuple[T, tuple[Diagnostic, ...]]:
    """Return what is found first: as it is asked, as it may be meant, with any word.

    `following`: what comes after the first, where that has been made already.
    """
    found = search(asked.question)
    if found:
        return found, asked.diagnostics
    for code, one in wider(ask, asked) if following is None else following:
        found = search(one)
        if found:
            return found, (*asked.diagnostics, _note(module, code, _SAID[code]))
    return found, asked.diagnostics


def spelt_ahead(ask: Ask, asked: BranchQuery) -> BranchQuery:
    """Return it with what may be misspelt looked up before anything is searched."""
    return replace(asked, spelt=_perhaps_meant(ask, asked))


def wider(ask: Ask, asked: BranchQuery) -> Iterator[tuple[str, CompiledQuery]]:
    """Yield what is searched in turn as long as nothing is found, and why."""
    found = _perhaps_meant(ask, asked) if asked.spelt is None else asked.spelt
    if any(expansion.spellings for expansion in found.values()):
        # One word that is spelt nearly so is not enough: all of them stand again.
        meant = with_all(replace(asked, known={**asked.known, **found}))
        if not meant.asks_more_than(asked.question):
            yield "fuzzy_fallback", meant
        # One word that is spelt like none must not keep the others from being read.
        if (any_of_meant := meant.relaxed()) != meant:
            yield "fuzzy_fallback", any_of_meant
    relaxed = asked.question.relaxed()
    if not asked.plan.words.any_word and relaxed != asked.question:
        yield "relaxed_to_any_term", relaxed


def _perhaps_meant(ask: Ask, asked: BranchQuery) -> Known:
    if ask.plan.words.fuzzy_threshold is None:
        return {}
    tenant, lexicon = ask.plan.scope.tenant, asked.lexicon
    words = expandable_words.words([guard.condition for guard in asked.question.guards])
    if lexicon.present is not None:
        words = lexicon.present.others(tenant, words)
    if not words:
        return {}
    try:
        found = _looked_up(ask, lexicon, words)
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # What is found as it is spelt is found all the same.
        log.warning("spellings_not_looked_up", code=exc.error_code)
        return {}
    if lexicon.present is not None:
        lexicon.present.note(tenant, found)
    return found


def _compiled(
    plan: Plan, lexicon: Lexicon, known: Known, languages: tuple[str, ...]
) -> CompiledQuery:
    made = compiled_question.compile_question(
        plan.tree,
        synonyms.add_synonyms(lexicon.facility, plan.words.glossary),
        known=known,
        max_terms=plan.words.max_terms,
        languages=languages,
    )
    return made.with_any() if plan.words.any_word else made


def _looked_up(ask: Ask, lexicon: Lexicon, wanted: list[expand.Want]) -> Known:
    with pipelined_connection(lexicon.pool) as conn:
        statement_deadline.limit_time(conn, ask.budget_ms)
        found = expand.expand(
            conn, ask.plan.scope.tenant, wanted, alike=ask.plan.words.fuzzy_threshold
        )
    return dict(zip(wanted, found, strict=True))


def queries(asked: CompiledQuery) -> str:
    """Return what Postgres compares, as JSON; languages beside each query."""
    return json.dumps(
        [
            {
                "languages": guard.languages,
                "gate": tsquery.gate(guard.condition),
                "query": tsquery.write_tsquery(guard.condition),
            }
            for guard in asked.guards
        ]
    )


def fields(asked: CompiledQuery) -> str:
    """Return the filters of fields in the question, as JSON; none: all are terms."""
    conditions = (guard.condition for guard in asked.guards)
    if not asked.fields or not any(map(tsquery.needs_marks, conditions)):
        return "[]"
    rows = [
        {"mark": tsquery.mark(number), **filters.params}
        for number, filters in enumerate(asked.fields)
    ]
    return json.dumps(
        [{name: _in_json(value) for name, value in row.items()} for row in rows]
    )


def _in_json(value: object) -> object:
    # JSON has no infinity, and no times.
    is_plain = value is None or isinstance(value, str | int | list)
    return value if is_plain else str(value)


def _note(
    module: str, code: str, message: str, level: Literal["info", "warning"] = "info"
) -> Diagnostic:
    source = f"retrieve.{module}"
    return Diagnostic(level, source, code, message, category="query")
