"""Which words of an entry say what a question says in another language, by meaning."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np

from shared.answers.evidence.evidence import EvidenceEntry, TranslatedWord
from shared.answers.question.question import Question
from shared.embedding.models.encoder_contract import Vectors

# Returns the vector of each of some words, a row each.
WordVectors = Callable[[Sequence[str]], Vectors]

# As alike were 126 of 156 pairs of words in five languages that translate each other,
# and one in five words to the nearest of eighty that had nothing to do with it.
_LEAST_LIKENESS = 0.6
# Other forms and near synonyms of the best are as good as it is.
_NEXT_BEST = 0.1
# So alike, it is the same word; what is less alike and like many others is none.
_SURE_LIKENESS, _MOST_NEAR = 0.75, 4
# So alike, it is written nearly the same: `septum` and `Septums`.
_SAME_WORD = 0.9
# So many words of entries are compared, in the order of the hits.
_MOST_WORDS = 300
# To compare words takes longer than all else. A language none of whose entries has so
# much of the best one's score tells nothing of what is asked.
_NEAR_SCORE = 0.7
# What these write in one word others write in two.
_COMPOUNDING = frozenset({"de"})
_COMPOUND_LETTERS = 12


def translate_entries(
    question: Question,
    language: str,
    others: AbstractSet[str],
    entries: Sequence[EvidenceEntry],
    vectors: WordVectors,
) -> list[EvidenceEntry] | None:
    """Return entries; those in other languages know their words for what is asked.

    None: none of them has such words.
    """
    found = {}
    least = _NEAR_SCORE * max((one.score for one in entries), default=0.0)
    near = {one.language for one in entries if one.score >= least}
    for other in sorted(others & near):
        among = [one for one in entries if one.language == other]
        asked = dict(_list_asked(question, has_pairs=other in _COMPOUNDING))
        has_pairs = any(_is_compound(one, language) for one in asked)
        said = dict(islice(_list_said(among, has_pairs=has_pairs), _MOST_WORDS))
        if asked and said:
            terms = question.terms_in(other)
            alike = vectors([*asked]) @ vectors([*said]).T
            _drop_half_pairs(asked, alike)
            found[other] = tuple(
                TranslatedWord(
                    one, said[one], phrase, frozenset(terms[word] for word in words)
                )
                for (phrase, words), row in zip(asked.items(), alike, strict=True)
                for one in _list_alike(phrase, language, [*said], row)
            )
    if not any(found.values()):
        return None
    return [
        replace(one, translations=found[one.language])
        if found.get(one.language)
        else one
        for one in entries
    ]


def _drop_half_pairs(asked: Mapping[str, Sequence[str]], alike: Vectors) -> None:
    """Take from pairs what means one of their words alone: that says no other one."""
    rows = dict(zip(asked, alike, strict=True))
    for phrase, words in asked.items():
        if len(words) > 1:
            halves = [rows[one.lower()] for one in words]
            rows[phrase][np.maximum.reduce(halves) >= _SAME_WORD] = 0.0


def _list_alike(
    phrase: str, language: str, said: Sequence[str], likeness: Vectors
) -> list[str]:
    """Return which words mean what a phrase does: the best, and what is as good."""
    best = float(likeness.max())
    least = max(_LEAST_LIKENESS, best - _NEXT_BEST)
    near = [one for one, alike in zip(said, likeness, strict=True) if alike >= least]
    # A part of a compound is not it; what is like many others means none of them.
    is_part = _is_compound(phrase, language) or len(near) > _MOST_NEAR
    return [] if is_part and best < _SURE_LIKENESS else near


def _is_compound(word: str, language: str) -> bool:
    return language in _COMPOUNDING and len(word) >= _COMPOUND_LETTERS


def _list_asked(
    question: Question, *, has_pairs: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the words of a question that are no names, and pairs of them."""
    known = {one.written for one in question.names}
    if question.is_of_state:
        # Alike in meaning are a state and its opposite.
        known.add(question.deed)
    words = [one for one in question.words if one not in known]
    for word in words:
        yield word.lower(), (word,)
    if has_pairs:
        for one, other in pairwise(words):
            if re.search(rf"\b{re.escape(one)}\s+{re.escape(other)}\b", question.text):
                yield f"{one} {other}".lower(), (one, other)


def _list_said(
    entries: Sequence[EvidenceEntry], *, has_pairs: bool
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the words of entries and pairs of them, each once, with their terms."""
    known: set[str] = set()
    for entry in entries:
        for phrase, terms in entry.list_phrases(has_pairs=has_pairs):
            if phrase not in known:
                known.add(phrase)
                yield phrase, terms
