"""Whether a sentence that a model wrote says no more than the sentences it cites.

Without a model: its numbers and names stand in what it cites, so do most of its words,
and what is denied there is denied here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from shared.answers.evidence.evidence import Candidate
from shared.answers.prompt.fence import gives_orders
from shared.answers.question.empty_words import is_empty
from shared.answers.question.plain_numbers import find_numbers
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words.character_runs import Token
from shared.text.words.folding import fold_surface

# What is wrong with a sentence; `mark`: it cites nothing that there is.
Flaw = Literal["mark", "link", "number", "name", "words", "denial", "repeated", "cut"]
LEAST_WORDS = 0.6
# How many cited sentences may together support one sentence of the answer.
MOST_CITED = 3
# Links are of entries, never of a model.
_LINK = re.compile(r"(?i)\bhttps?:|\bwww\.|\bmailto:")
_DENIED = re.compile(
    r"(?i)\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|unable"
    r"|failed\s+to|kein\w{0,2}|nicht|nichts|nie|niemals|niemand|ohne|weder)\b"
    r"|n['\u2019]t\b"
)
_DATES = ("%Y-%m-%d", "%H:%M", "%-d %B %Y", "%B %-d, %Y", "%-d %b %Y", "%-d.%-m.%Y")


class Checker(NamedTuple):
    """How texts are read here: by the facility's words, on its clock."""

    facility: Facility = PLAIN
    zone: str = "UTC"

    def find_flaw(self, sentence: str, cited: Sequence[Candidate]) -> Flaw | None:
        """Return the first thing that a sentence says and those it cites do not."""
        cited = [one for one in cited if not gives_orders(one.text)]
        if len(cited) > MOST_CITED:
            # Whoever cites all that there is cites what is nearest.
            cited = self.nearest(sentence, cited, MOST_CITED)
        if not cited:
            return "mark"
        if _LINK.search(sentence):
            return "link"
        language = cited[0].entry.language
        tokens = list(scan(sentence, language, self.facility))
        texts = [one.text for one in cited]
        titles = [one.entry.row.title for one in cited]
        known = [number for text in (*texts, *titles) for number in find_numbers(text)]
        dated = _without_times(sentence, cited, self.zone)
        if not set(known).issuperset(find_numbers(dated)):
            return "number"
        terms = frozenset[str]().union(
            *(one.terms | one.entry.context_terms for one in cited)
        )
        people = " ".join(name for one in cited for name in one.entry.row.authors)
        if any(
            one.is_name
            and not terms.intersection((one.term, *filter(_is_whole_name, one.idents)))
            for one in tokens
        ):
            return "name"
        told = terms | {one.term for one in scan(people, language, self.facility)}
        if _share(_content(tokens), told) < LEAST_WORDS:
            return "words"
        nearest = max(cited, key=lambda one: _share(_content(tokens), one.terms))
        denials = len(_DENIED.findall(sentence))
        # More often than its sources it denies what one of them says.
        if denials > sum(len(_DENIED.findall(text)) for text in texts):
            return "denial"
        if not denials and _DENIED.search(nearest.text):
            return "denial"
        return None

    def nearest(
        self, sentence: str, among: Sequence[Candidate], most: int = 2
    ) -> list[Candidate]:
        """Return the sentences that a statement may rest on, where all are cited.

        A number that stands elsewhere in the entry supports nothing here.
        """
        words: dict[str, list[Token]] = {}

        def shared(one: Candidate) -> float:
            language = one.entry.language
            if language not in words:
                words[language] = _content(scan(sentence, language, self.facility))
            return _share(words[language], one.terms)

        order = sorted(among, key=lambda one: (-shared(one), one.place))
        return order[:most]


def _is_whole_name(ident: str) -> bool:
    """Tell whether a form of a name names the thing: `3` is a part of many names."""
    return any(map(str.isdigit, ident)) and any(map(str.isalpha, ident))


def _without_times(sentence: str, cited: Sequence[Candidate], zone: str) -> str:
    """Return a sentence without the times of what it cites: they head the entries."""
    for one in cited:
        row = one.entry.row
        for moment in {row.entry_time, row.event_time or row.entry_time}:
            for written in _written(moment, zone):
                sentence = sentence.replace(written, " ")
    return sentence


@lru_cache(maxsize=256)
def _written(moment: datetime, zone: str) -> tuple[str, ...]:
    local = moment.astimezone(ZoneInfo(zone))
    return tuple(local.strftime(form) for form in _DATES)


def _content(tokens: Sequence[Token] | Iterator[Token]) -> list[Token]:
    """Return the tokens with meaning: no joining words, numbers or times."""
    return [
        one
        for one in tokens
        if one.is_name
        or (
            one.kind is None
            and (one.surface or "").isalpha()
            and not is_empty(fold_surface(one.surface or "", "en"))
        )
    ]


def _share(words: Sequence[Token], terms: frozenset[str]) -> float:
    if not words:
        return 0.0
    return sum(not terms.isdisjoint((w.term, *w.idents)) for w in words) / len(words)
