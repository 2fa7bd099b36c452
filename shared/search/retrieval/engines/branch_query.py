"""The question of a branch: compiled once, and tried wider where it finds nothing.

The branch that compares patterns looks them up in one statement. Words that may be
misspelt are looked up only once nothing was found, or where any word is enough only if
it is new to this process, so most questions of plain words need no look-up. A fallback
looks its words up again.
"""

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, TypeVar

from psycopg import Connection

from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.postgres.statement_deadline import timed_pipeline
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
    """A plan's question compiled for a branch, with the words behind its patterns."""

    plan: Plan
    lexicon: Lexicon
    question: CompiledQuery
    known: Known = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    # The languages for which it was compiled; empty: every language.
    languages: tuple[str, ...] = ()
    # Near spellings of words that may be misspelt; None: not looked up yet.
    spelt: Known | None = None

    @property
    def keeps_all(self) -> bool:
        """Whether the question excludes nothing, by words or by fields."""
        return not self.question.kept().guards

    @property
    def is_exact(self) -> bool:
        """Whether each hit has a name, a phrase or a field of the question."""
        return self.plan.words.by_field or self.question.is_exact

    def measure(self, notes: Iterable[Diagnostic]) -> WordMeasure:
        """Return how a hit's words count; `notes` say if the question was widened."""
        any_word = self.plan.words.any_word
        count = functools.partial(conditions.count_words, any_word=any_word)
        asked = (guard.condition for guard in self.question.guards)
        # The least count: some languages leave out more words that only join others.
        words = max(1, min(map(count, asked), default=1))
        was_widened = any(note.code in _SAID for note in notes)
        return {
            "words": words,
            "whole": not was_widened and (words == 1 or not any_word),
        }

    @property
    def is_long(self) -> bool:
        """Whether the question has so many words that hardly any entry has them all."""
        if self.plan.words.any_word:
            return False
        words = (
            conditions.plain_words(guard.condition) for guard in self.question.guards
        )
        # The least count: some languages leave out more words that only join others.
        return min(words, default=0) >= _LONG_WORDS

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters that every statement of a search takes.

        By them no statement returns an entry that the question excludes.
        """
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
    """Compile a branch's question, with the words behind its patterns looked up.

    It is compiled for these languages, where entries are known to have no others.
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
    """Note how many words of a long question were left out; None: there are none."""
    if not compiled.dropped:
        return None
    said = f"{compiled.dropped} words beyond the limit were left out."
    return _note(module, "terms_dropped", said, level="warning")


def of_known(
    ask: Ask, lexicon: Lexicon, known: Known, languages: tuple[str, ...] = ()
) -> BranchQuery:
    """Compile a branch's question from words that were looked up already."""
    spelt = {want: found for want, found in known.items() if want.kind == "typo"}
    patterns = {want: found for want, found in known.items() if want not in spelt}
    compiled = _compiled(ask.plan, lexicon, patterns, languages)
    return BranchQuery(
        ask.plan, lexicon, compiled, patterns, languages=languages, spelt=spelt
    )


def by_all_words(ask: Ask, lexicon: Lexicon, module: str) -> BranchQuery:
    """Compile the question for counting: an entry must have all the words."""
    return build_branch_query(replace(ask, plan=_by_all(ask.plan)), lexicon, module)


def with_all(asked: BranchQuery) -> CompiledQuery:
    """Return the question that requires all words, where one of many was enough."""
    return _compiled(_by_all(asked.plan), asked.lexicon, asked.known, asked.languages)


def _by_all(plan: Plan) -> Plan:
    """Return the plan with all words required."""
    return replace(plan, words=replace(plan.words, any_word=False))


def kept_of(ask: Ask, lexicon: Lexicon, module: str) -> BranchQuery:
    """Return the exclusions and fields that a branch keeps to which compares no words.

    Nothing is looked up where the question has none: such a branch needs no wanted
    words, and so no words behind patterns.
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
    """Search as asked, then with near spellings, then with any word; return first hits.

    `following` are the wider questions, where they have been made already.
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
    """Return the question with its misspelt words looked up before any search."""
    return replace(asked, spelt=_perhaps_meant(ask, asked))


def respelt(ask: Ask, asked: BranchQuery, module: str) -> BranchQuery:
    """Return the question with its misspelt words put right, if any word is enough.

    One word that is spelt right finds so much that nobody would look for the others.
    """
    if not asked.plan.words.any_word:
        return asked
    asked = spelt_ahead(ask, asked)
    wide = next(wider(ask, asked), None)
    if wide is None:
        return asked
    code, question = wide
    notes = (*asked.diagnostics, _note(module, code, _SAID[code]))
    known = {**asked.known, **(asked.spelt or {})}
    return replace(asked, question=question, known=known, diagnostics=notes, spelt={})


def wider(ask: Ask, asked: BranchQuery) -> Iterator[tuple[str, CompiledQuery]]:
    """Yield wider questions to search until one finds something, each with a code."""
    found = _perhaps_meant(ask, asked) if asked.spelt is None else asked.spelt
    if any(expansion.spellings for expansion in found.values()):
        known = {**asked.known, **found}
        if asked.plan.words.any_word:
            plan, lexicon = asked.plan, asked.lexicon
            yield "fuzzy_fallback", _compiled(plan, lexicon, known, asked.languages)
            return
        meant = with_all(replace(asked, known=known))
        if not meant.asks_more_than(asked.question):
            yield "fuzzy_fallback", meant
        # A word without a near spelling must not keep the others from being found.
        if (any_of_meant := meant.relaxed()) != meant:
            yield "fuzzy_fallback", any_of_meant
    relaxed = asked.question.relaxed()
    if not asked.plan.words.any_word and relaxed != asked.question:
        yield "relaxed_to_any_term", relaxed


def _perhaps_meant(ask: Ask, asked: BranchQuery) -> Known:
    if ask.plan.words.fuzzy_threshold is None:
        return {}
    plan, lexicon = ask.plan, asked.lexicon
    scope, own = plan.scope, compiled_question.find_own_languages(plan.tree)
    words = expandable_words.words(
        (guard.condition for guard in asked.question.guards), own
    )
    unseen, whose = words, json.dumps(scope.params)
    if lexicon.present is not None:
        unseen = lexicon.present.others(whose, words)
    if not unseen:
        return {}
    try:
        with _looking_up(ask, lexicon) as conn:
            expansions = expand.expand_misspelt(
                conn,
                scope,
                unseen,
                own,
                alike=plan.words.fuzzy_threshold,
                has_others=len(unseen) < len(words) or asked.question.is_exact,
            )
    except (DatabaseConnectionError, DatabaseQueryError) as exc:
        # Words found as they are spelt are found without the look-up.
        log.warning("spellings_not_looked_up", code=exc.error_code)
        return {}
    found = dict(zip(unseen, expansions, strict=True))
    if lexicon.present is not None:
        lexicon.present.note(whose, found)
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
    tenant, alike = ask.plan.scope.tenant, ask.plan.words.fuzzy_threshold
    with _looking_up(ask, lexicon) as conn:
        found = expand.expand(conn, tenant, wanted, alike=alike)
    return dict(zip(wanted, found, strict=True))


@contextmanager
def _looking_up(ask: Ask, lexicon: Lexicon) -> Iterator[Connection]:
    # Words are looked up by index, whatever they are.
    with timed_pipeline(lexicon.pool, ask.budget_ms, one_plan=True) as conn:
        yield conn


def queries(asked: CompiledQuery) -> str:
    """Return the tsqueries that Postgres compares, with their languages, as JSON."""
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
    """Return the filters of the question's fields as JSON; `[]`: all are terms."""
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
    # JSON has neither infinity nor times.
    is_plain = value is None or isinstance(value, str | int | list)
    return value if is_plain else str(value)


def _note(
    module: str, code: str, message: str, level: Literal["info", "warning"] = "info"
) -> Diagnostic:
    return Diagnostic(level, f"retrieve.{module}", code, message, category="query")
