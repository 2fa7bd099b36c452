"""Describes the queries that a search sends to its engines: for `debug`, and previews.

The question is compiled again without looked-up words that no visible hit has, for
these are named to nobody. A preview has looked up nothing, so it does not tell the
words behind patterns.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.errors import LogchordError
from shared.glossary import synonyms
from shared.log import get_logger
from shared.search.jobs.outcome import Diagnostic
from shared.search.query import entities
from shared.search.query.compiled import conditions, expandable_words, tsquery
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.compiled.word_clauses import Known
from shared.search.query.plan import Plan
from shared.search.results.conclude import Conclusion
from shared.search.retrieval.engines import branch_query, thread_filter
from shared.search.retrieval.engines.branch_query import BranchQuery
from shared.search.retrieval.installed_modules import compares_words, engine_of
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.search.retrieval.modules import os_bm25
from shared.search.retrieval.tenant_languages import WrittenIn
from shared.text.facility.facility import Facility
from shared.vocabulary.expand import LANGUAGES

log = get_logger()

# How much of the time left this may take: it asks little.
_MOST_MS = 200
_BEFORE_SECONDS = 2.0


def describe_engine_queries(
    context: Lexicon, plan: Plan, conclusion: Conclusion, known: Known, left_ms: int
) -> Mapping[str, object]:
    """Return the names, terms, phrases and queries of both engines.

    If it is too late, return the names alone.
    """
    ask = Ask.lasting(plan, min(left_ms, _MOST_MS) / 1000)
    named = {"entities": entities.describe_entities(plan, context.facility)}
    compiled = _compiled(ask, context, known)
    if compiled is None:
        return named
    ask, asked = compiled
    codes = {note.code for one in conclusion.branches for note in one.diagnostics}
    ways = {code: way for code, way in branch_query.wider(ask, asked) if code in codes}
    question = next(iter(ways.values()), asked.question)
    by_index = any(
        _by_index(one.name) and one.status != "skipped" for one in conclusion.branches
    )
    return {
        **named,
        **_queries(ask, question, known, context.facility, by_index=by_index),
    }


def before(
    context: Lexicon, plan: Plan
) -> tuple[Mapping[str, object], tuple[Diagnostic, ...]]:
    """Describe the queries of a search before it runs, and what they leave out."""
    ask = Ask.lasting(plan, _BEFORE_SECONDS)
    told: dict[str, object] = {
        "entities": entities.describe_entities(plan, context.facility)
    }
    compiled = _compiled(ask, context, {})
    if compiled is None:
        return told, ()
    ask, asked = compiled
    by_index = any(map(_by_index, plan.branches)) and asked.question.finds
    told |= _queries(ask, asked.question, {}, context.facility, by_index=by_index)
    patterns = expandable_words.patterns(plan.tree)
    if patterns:
        told |= _without_patterns(told, is_in_phrase=any(p.in_phrase for p in patterns))
    notes = (
        branch_query.left_out(name, asked.question)
        for name in plan.searching
        if compares_words(name)
    )
    return told, tuple(note for note in notes if note is not None)


def _by_index(name: str) -> bool:
    return compares_words(name) and engine_of(name) == "opensearch"


def _compiled(
    ask: Ask, lexicon: Lexicon, known: Known
) -> tuple[Ask, BranchQuery] | None:
    """Compile the question of a branch by words; None: time was over."""
    try:
        languages = WrittenIn().load_languages(
            lexicon.pool, ask.plan.scope.tenant, ask.budget_ms
        )
        ask = replace(ask, plan=thread_filter.resolve_threads(ask, lexicon))
    except LogchordError as exc:
        log.warning("plan_not_compiled", code=exc.error_code)
        return None
    return ask, branch_query.of_known(ask, lexicon, known, languages)


def _without_patterns(
    told: Mapping[str, Any], *, is_in_phrase: bool
) -> dict[str, object]:
    """Return the parts that hold the words behind patterns, with these removed."""
    unknown = {"terms": None, "idents": None}
    terms = [
        {**one, **unknown} if one["how"] == "pattern" else one for one in told["terms"]
    ]
    phrases = None if is_in_phrase else told["phrases"]
    queries = {"tsquery": None, "opensearch_query": None}
    return {"terms": terms, "phrases": phrases, **queries}


def _queries(
    ask: Ask,
    question: CompiledQuery,
    known: Known,
    facility: Facility,
    *,
    by_index: bool,
) -> dict[str, object]:
    return {
        **_parts(
            question, known, synonyms.add_synonyms(facility, ask.plan.words.glossary)
        ),
        "tsquery": [
            {
                "languages": list(guard.languages),
                "query": tsquery.write_tsquery(guard.condition),
            }
            for guard in question.guards
        ],
        "opensearch_query": _body(ask, question) if by_index else None,
    }


def _body(ask: Ask, question: CompiledQuery) -> dict[str, Any]:
    body = os_bm25.body(ask, question)
    # The time limit is one of this moment and not the branch's.
    del body["timeout"]
    found: dict[str, Any] = json.loads(json.dumps(body, default=str))
    return found


def _parts(
    question: CompiledQuery, known: Known, facility: Facility
) -> dict[str, object]:
    """Return the wanted and excluded terms and phrases, language by language."""
    spelt = {
        spelling: want.text
        for want, found in known.items()
        for spelling in found.spellings
    }
    told: dict[str, list[dict[str, object]]] = {"terms": [], "phrases": []}
    for guard in question.guards:
        language = next(one for one in LANGUAGES if one in guard.languages)
        forms = synonyms.forms(language, facility)
        for leaf, is_wanted in dict.fromkeys(
            conditions.iterate_leaves(guard.condition)
        ):
            for kind, one in _part(leaf, spelt, forms):
                beside = {"negated": not is_wanted, "languages": list(guard.languages)}
                told[kind].append({**one, **beside})
    return dict(told)


def _part(
    leaf: conditions.Leaf, spelt: Mapping[str, str], forms: synonyms.Forms
) -> Iterator[tuple[str, dict[str, object]]]:
    match leaf:
        case conditions.Clause(lexemes, is_exact=True) if len(lexemes) > 1:
            yield "phrases", {"places": [[one] for one in lexemes]}
        case conditions.Places(places):
            yield "phrases", {"places": [list(one) for one in places]}
        case conditions.OneOf(terms, idents, pattern):
            yield "terms", _term(pattern, "pattern", terms, idents)
        case conditions.Clause(lexemes, idents):
            typed = next((spelt[one] for one in idents if one in spelt), None)
            how = "name" if leaf.is_exact else "word"
            if typed is not None and leaf.word is None:
                how = "spelling"
            elif any(
                {*one.others} <= {*leaf.also} for one in forms.get(lexemes[0], ())
            ):
                how = "glossary"
            word = typed if how == "spelling" else leaf.word
            phrases = tuple(" ".join(one) for one in (lexemes, *leaf.also))
            yield "terms", _term(word or phrases[0], how, phrases, idents)


def _term(
    word: str | None, how: str, terms: tuple[str, ...], idents: tuple[str, ...]
) -> dict[str, object]:
    return {"word": word, "how": how, "terms": list(terms), "idents": list(idents)}
