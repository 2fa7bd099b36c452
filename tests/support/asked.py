"""A question as entries of one language are compared with it."""

from shared.search.query.compiled import conditions
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.compiled.conditions import Clause, Condition
from shared.search.query.compiled.word_clauses import Known
from shared.search.query.language import grammar
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words.folding import STEMMED_LANGUAGES
from shared.vocabulary.expand import UNSTEMMED


def condition(
    text: str,
    language: str = "en",
    facility: Facility = PLAIN,
    known: Known | None = None,
    max_terms: int = 64,
) -> Condition | None:
    tree = grammar.parse(text).tree
    made = compile_question(tree, facility, known=known, max_terms=max_terms)
    name = language if language in STEMMED_LANGUAGES else UNSTEMMED
    found = [guard.condition for guard in made.guards if name in guard.languages]
    return found[0] if found else None


def clauses(
    text: str, language: str = "en", facility: Facility = PLAIN, *, wanted: bool = True
) -> list[Clause]:
    """Return what is asked for, or else what is excluded."""
    made = condition(text, language, facility)
    found = [] if made is None else conditions.iterate_leaves(made)
    return [
        leaf
        for leaf, is_wanted in found
        if is_wanted == wanted and isinstance(leaf, Clause)
    ]
