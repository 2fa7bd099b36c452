"""Tells whether a question asks for names alone, or for one entry by its number."""

from collections.abc import Iterator

from shared.search.query.filters.filters import Filters
from shared.search.query.language import tree
from shared.search.query.language.tree import Field, Node, Pattern, Phrase, Words
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import Facility
from shared.text.facts import METADATA
from shared.vocabulary.expand import UNSTEMMED

# A longer question describes something, and reading it would hold up others.
MAX_CHARACTERS = 200
# No entry has a longer number.
MAX_NUMBER_CHARACTERS = 255
_SIGN = "#"
# Facts that name a thing; others, as a level, say of which sort an entry is.
_NAMES = frozenset({"device", "system", "tag"})


def names_all(node: Node | None, facility: Facility) -> bool:
    """Tell whether the question asks for names alone; exclusions and filters aside."""
    found = [*wanted_words(node)]
    if sum(len(one.text) for one in found) > MAX_CHARACTERS:
        return False
    return bool(found) and all(_is_exact(one, facility) for one in found)


def numbers(node: Node | None) -> tuple[str, ...]:
    """Return the numbers that an entry may have, where the question is one token.

    A token without a digit is a word. Exclusions and filters do not count as tokens.
    """
    parts = node.parts if isinstance(node, tree.And) else (node,)
    wanted = [one for one in parts if not isinstance(one, tree.Not | Field)]
    if len(wanted) != 1 or not isinstance(wanted[0], Words):
        return ()
    text = wanted[0].text
    has_digit = any(sign.isdecimal() for sign in text)
    if not has_digit or len(text) > MAX_NUMBER_CHARACTERS or len(text.split()) > 1:
        return ()
    return tuple(dict.fromkeys((text, text.removeprefix(_SIGN))))


def is_named(filters: Filters) -> bool:
    """Tell whether the filters name a thing, person, entry, thread or value."""
    named = (filters.people, filters.ids, filters.threads)
    return any(one is not None for one in named) or any(
        fact.any_of and (fact.field in _NAMES or fact.field.startswith(METADATA))
        for fact in filters.facts
    )


def wanted_words(node: Node | None) -> Iterator[Words | Phrase | Pattern]:
    """Yield the wanted words, phrases and patterns, without exclusions and fields."""
    return (one for one in tree.affirmed(node) if not isinstance(one, Field))


def _is_exact(wanted: Words | Phrase | Pattern, facility: Facility) -> bool:
    if isinstance(wanted, Pattern):
        # `inject*` stands for words, `SR:C??-RF*` for names.
        return wanted.is_name
    tokens = [*scan(wanted.text, UNSTEMMED, facility)]
    is_phrase = isinstance(wanted, Phrase)
    return bool(tokens) and all(is_phrase or token.is_name for token in tokens)
