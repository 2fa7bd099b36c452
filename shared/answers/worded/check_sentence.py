"""Whether a sentence that a model wrote says no more than the sentences it cites.

Without a model: its numbers and names stand in what it cites, so do most of its words,
and what is denied there is denied here.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from shared.answers.evidence.evidence import Sentence
from shared.answers.prompt.fence import gives_orders
from shared.answers.question import named_days, plain_numbers
from shared.answers.question.empty_words import is_empty
from shared.answers.worded import contraries
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN, Facility
from shared.text.reading.quantities import Quantity, find_quantities
from shared.text.words.character_runs import Token
from shared.text.words.folding import fold_surface
from shared.times.calendar_names import SECONDS_OF

# What is wrong with a sentence; `mark`: it cites nothing that there is.
Flaw = Literal["mark", "link", "number", "name", "words", "denial", "repeated", "cut"]
LEAST_WORDS = 0.6
# How many cited sentences may together support one sentence of the answer.
MOST_CITED = 3
# Links are of entries, never of a model.
_LINK = re.compile(r"(?i)\bhttps?:|\bwww\.|\bmailto:")
# A span of time in words; its units are in `find_quantities` as they are shortened.
_SPAN = re.compile(
    rf"(?<![\w.,-])(?P<number>\d{{1,9}}(?:[.,]\d{{1,3}})?)[ -]"
    rf"(?P<of>{'|'.join(SECONDS_OF)})\b",
    re.IGNORECASE,
)
# What stands around a time of day.
_AT = r"(?i:\b(?:at|um|\u00e0|alle(?: ore)?|a las)\s)?\b"
_UHR = r"(?!\d)(?i:\s?(?:uhr|h|hrs|hours)\b)?"


class Checker(NamedTuple):
    """How texts are read here: by the facility's words, on its clock."""

    facility: Facility = PLAIN
    zone: str = "UTC"

    def find_flaw(self, sentence: str, cited: Sequence[Sentence]) -> Flaw | None:
        """Return the first thing that a sentence says and those it cites do not."""
        cited = [one for one in cited if not gives_orders(one.text)]
        if len(cited) > MOST_CITED:
            # Whoever cites all that there is cites what is nearest.
            cited = self.nearest(sentence, cited, MOST_CITED)
        if not cited:
            return "mark"
        if _LINK.search(sentence):
            return "link"
        bare = self._strip_known_times(sentence, cited)
        if bare is None:
            return "number"
        tokens = list(scan(bare, cited[0].entry.language, self.facility))
        return self._find_unsaid(bare, tokens, cited) or _find_contrary(
            bare, tokens, cited
        )

    def _strip_known_times(
        self, sentence: str, cited: Sequence[Sentence]
    ) -> str | None:
        """Return a sentence without the dates and times of what it cites.

        They head the entries. None: it names another day.
        """
        moments = [moment for one in cited for moment in _moments(one, self.zone)]
        said = plain_numbers.write_clocks(sentence)
        bare = named_days.strip_known_days(said, _texts(cited), moments)
        for moment in moments if bare else ():
            bare = re.sub(rf"{_AT}{moment:%H:%M}{_UHR}", " ", bare or "")
        return bare

    def _find_unsaid(
        self, sentence: str, tokens: Sequence[Token], cited: Sequence[Sentence]
    ) -> Flaw | None:
        """Return the kind of thing in a sentence that none it cites has: a number."""
        language = cited[0].entry.language
        sources = [_read(text, language) for text in _texts(cited)]
        known = frozenset[str]().union(*(one.numbers for one in sources))
        plain = plain_numbers.write_plainly(sentence)
        if not known.issuperset(plain_numbers.find_signed(plain)) or _is_other_size(
            plain, sources, language
        ):
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
        return (
            "words" if _share(_content(tokens, language), told) < LEAST_WORDS else None
        )

    def nearest(
        self, sentence: str, among: Sequence[Sentence], most: int = 2
    ) -> list[Sentence]:
        """Return the sentences that a statement may rest on, where all are cited.

        A number that stands elsewhere in the entry supports nothing here.
        """
        words: dict[str, list[Token]] = {}

        def shared(one: Sentence) -> float:
            language = one.entry.language
            if language not in words:
                tokens = scan(sentence, language, self.facility)
                words[language] = _content(tokens, language)
            return _share(words[language], one.terms)

        order = sorted(among, key=lambda one: (-shared(one), one.place))
        return order[:most]


def _find_contrary(
    sentence: str, tokens: Sequence[Token], cited: Sequence[Sentence]
) -> Flaw | None:
    """Return how a sentence says the contrary of those it cites; None: it does not."""
    language = cited[0].entry.language
    words = _content(tokens, language)
    nearest = max(cited, key=lambda one: _share(words, one.terms))
    denials = contraries.count_denials(sentence, language)
    # More often than its sources it denies what one of them says.
    if denials > sum(contraries.count_denials(one.text, language) for one in cited):
        return "denial"
    if not denials and contraries.count_denials(nearest.text, language):
        return "denial"
    plain = [plain_numbers.write_plainly(text) for text in (sentence, *_texts(cited))]
    return "words" if contraries.is_opposite(plain[0], plain[1:]) else None


class _CitedText(NamedTuple):
    """The numbers and quantities of a text that is cited."""

    numbers: frozenset[str]
    sizes: tuple[tuple[str, Quantity], ...]


@lru_cache(maxsize=512)
def _read(text: str, language: str) -> _CitedText:
    plain = plain_numbers.write_plainly(plain_numbers.write_clocks(text), language)
    numbers = frozenset(plain_numbers.find_readings(plain, language))
    return _CitedText(numbers, tuple(_sizes(plain, language)))


def _is_other_size(sentence: str, sources: Sequence[_CitedText], language: str) -> bool:
    """Tell whether a number has another unit or sign in a sentence than in sources.

    A number that stands there without a unit may have been given one.
    """
    told = [size for one in sources for size in one.sizes]
    return any(
        any(number == digits for digits, _ in told)
        and not any(
            other.dimension == one.dimension
            and math.isclose(other.value, one.value, rel_tol=1e-9)
            for _, other in told
        )
        for number, one in _sizes(sentence, language)
    )


def _sizes(text: str, language: str) -> Iterator[tuple[str, Quantity]]:
    """Yield the quantities of a text, each with its digits as they are written."""
    for one in find_quantities(text, language):
        yield re.sub(r"[^\d.,]", "", text[one.start : one.end]), one
    for span in _SPAN.finditer(text):
        seconds = (
            float(span["number"].replace(",", ".")) * SECONDS_OF[span["of"].lower()]
        )
        yield span["number"], Quantity("time", seconds, "", *span.span())


def _texts(cited: Sequence[Sentence]) -> tuple[str, ...]:
    """Return the cited sentences and the titles of their entries."""
    return (
        *(one.text for one in cited),
        *(one.entry.row.title for one in cited),
    )


def _is_whole_name(ident: str) -> bool:
    """Tell whether a form of a name names the thing: `3` is a part of many names."""
    return any(map(str.isdigit, ident)) and any(map(str.isalpha, ident))


def _moments(one: Sentence, zone: str) -> set[datetime]:
    """Return when an entry was written, and what it tells happened, on a clock."""
    row = one.entry.row
    both = (row.entry_time, row.event_time or row.entry_time)
    return {moment.astimezone(ZoneInfo(zone)) for moment in both}


def _content(tokens: Iterable[Token], language: str) -> list[Token]:
    """Return the tokens with meaning: no joining words, numbers or times."""
    return [
        one
        for one in tokens
        if one.is_name
        or (
            one.kind is None
            and (one.surface or "").isalpha()
            and not is_empty(fold_surface(one.surface or "", "en"), language)
            and not named_days.is_day_word(one.surface or "")
            and not plain_numbers.is_number_word(one.surface or "")
            and (one.surface or "") not in SECONDS_OF
        )
    ]


def _share(words: Sequence[Token], terms: frozenset[str]) -> float:
    if not words:
        return 0.0
    return sum(not terms.isdisjoint((w.term, *w.idents)) for w in words) / len(words)
