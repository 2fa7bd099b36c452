"""The stage `digest`: what an entry is about, in words of its own.

Both are extracts: whatever stands in them stands in the text, and is found there. They
are kept apart from what is searched, where the same words would only count double.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel

from shared.messaging.stage_names import DIGEST_STAGE
from shared.stages.stage_contract import StageDescriptor, StageInput
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import Facility
from shared.text.words import languages
from shared.text.words.character_runs import Token
from shared.vocabulary.common_words import is_common

# Raised with every change of what is found in an entry.
_VERSION = 1
# A digest of a digest says nothing: what is as short is its own summary.
MIN_CHARS, MAX_SUMMARY_CHARS = 400, 300
MAX_SENTENCES, MIN_SENTENCE_CHARS = 3, 20
MAX_KEYWORDS, MAX_KEYWORD_WORDS, MAX_KEYWORD_CHARS = 8, 3, 60
# Fewer words than these are about everything that they name.
MIN_WORDS = 8
# What follows is seldom what an entry is about, and costs as much to read.
MAX_CHARS_READ = 50_000

_NAME_WEIGHT, _TITLE_WEIGHT, _FIRST_WEIGHT = 2.0, 1.5, 1.3
_MIN_LETTERS = 3
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
# An empty line, or a mark of a list.
_NEW_PART = re.compile(r"[ \t]{0,20}(?:\n|[-*\u2022]|$)")
# A line as long as that was broken because it was full.
_FULL_LINE_CHARS = 50


class Digest(BaseModel):
    """What an entry is about: its own sentences, and its own words."""

    summary: str | None
    keywords: list[str]


class _Sentence(NamedTuple):
    start: int
    end: int
    score: float


def get_stage_descriptor() -> StageDescriptor:
    """Return the descriptor of the digest stage."""
    return StageDescriptor(
        DIGEST_STAGE,
        version=_VERSION,
        description="Picks the sentences and words that an entry is about.",
        reads=("title", "text", "language", "facility"),
        finds=Digest,
        find=find,
        is_on=False,
    )


def find(reading: StageInput) -> Iterator[Digest]:
    """Yield the digest of an entry that is worth one; equal for equal texts."""
    text, title = reading["text"][:MAX_CHARS_READ], reading["title"]
    language = languages.find_entry_language(title, text, told=reading["language"])
    tokens = _telling(text, language, reading.facility)
    if len(tokens) < MIN_WORDS:
        return
    of_title = {one.term for one in _telling(title, language, reading.facility)}
    counts = Counter(one.term for one in tokens)
    names = {one.term for one in tokens if one.is_name}
    weights = {
        term: (1 + math.log(count))
        * (_NAME_WEIGHT if term in names else 1)
        * (_TITLE_WEIGHT if term in of_title else 1)
        for term, count in counts.items()
    }
    yield Digest(
        summary=_summary(text, tokens, weights),
        keywords=_keywords(text, tokens, weights),
    )


def _telling(text: str, language: str, facility: Facility) -> list[Token]:
    """Return the tokens that say what a text is about: names, and words of weight."""
    return [
        one
        for one in scan(text, language, facility)
        if one.is_name
        or (
            one.surface is not None
            and len(one.surface) >= _MIN_LETTERS
            and not one.surface.isdigit()
            and not is_common(one.surface, language)
        )
    ]


def _summary(
    text: str, tokens: Sequence[Token], weights: dict[str, float]
) -> str | None:
    """Return the sentences that weigh most, in the order of the text."""
    if len(text) < MIN_CHARS:
        return None
    best = sorted(_sentences(text, tokens, weights), key=lambda s: (-s.score, s.start))
    chosen: list[_Sentence] = []
    left = MAX_SUMMARY_CHARS
    for one in best:
        size = one.end - one.start + 1
        if size <= left and len(chosen) < MAX_SENTENCES:
            chosen.append(one)
            left -= size
    in_order = sorted(chosen, key=lambda one: one.start)
    said = " ".join(text[one.start : one.end] for one in in_order)
    return " ".join(said.split()) or None


def _sentences(
    text: str, tokens: Sequence[Token], weights: dict[str, float]
) -> Iterator[_Sentence]:
    place = 0
    start = 0
    is_first = True
    for end in _ends(text):
        first = place
        while place < len(tokens) and tokens[place].start < end:
            place += 1
        said = text[start:end]
        begins = start + len(said) - len(said.lstrip())
        ends = start + len(said.rstrip())
        start = end
        if not MIN_SENTENCE_CHARS <= ends - begins <= MAX_SUMMARY_CHARS:
            continue
        terms = {one.term for one in tokens[first:place]}
        # A long one has more of everything.
        score = sum(sorted(weights[term] for term in terms)) / math.sqrt(len(terms) + 4)
        yield _Sentence(begins, ends, score * (_FIRST_WEIGHT if is_first else 1))
        is_first = False


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end: at a full stop, or a line that was not full."""
    line = 0
    for match in _SENTENCE_END.finditer(text):
        if match[0] == "\n":
            is_full = match.start() - line >= _FULL_LINE_CHARS
            line = match.end()
            if is_full and not _NEW_PART.match(text, line):
                continue
        yield match.end()
    yield len(text)


def _keywords(
    text: str, tokens: Sequence[Token], weights: dict[str, float]
) -> list[str]:
    """Return the phrases that weigh most, none of the words of another."""
    written: dict[tuple[str, ...], str] = {}
    scores: Counter[tuple[str, ...]] = Counter()
    for phrase in _phrases(text, tokens):
        terms = tuple(one.term for one in phrase)
        said = " ".join(text[phrase[0].start : phrase[-1].end].split())
        if len(said) <= MAX_KEYWORD_CHARS:
            written.setdefault(terms, said)
            scores[terms] += 1
    best = sorted(
        written,
        key=lambda terms: (
            -scores[terms] * sum(map(weights.__getitem__, terms)),
            terms,
        ),
    )
    chosen: list[tuple[str, ...]] = []
    for terms in best:
        if len(chosen) == MAX_KEYWORDS:
            break
        if not any({*terms} & {*one} for one in chosen):
            chosen.append(terms)
    return [written[terms] for terms in chosen]


def _phrases(text: str, tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield runs of telling words with but a blank between them."""
    first = 0
    for place in range(1, len(tokens) + 1):
        is_end = (
            place == len(tokens)
            or place - first == MAX_KEYWORD_WORDS
            or text[tokens[place - 1].end : tokens[place].start] != " "
        )
        if is_end:
            yield tokens[first:place]
            first = place
