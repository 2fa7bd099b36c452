"""Takes a question apart by its words alone: five rules, the first that fits.

Quoted or bracketed words are one thing. A question with AND, OR or NOT has no parts,
for it is exact already.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from shared.text.words import function_words, question_words

Strategy = Literal["multi_question", "sequential", "comparison", "list", "clusters"]

# The whole question counts as one of them.
MAX_SUBQUERIES = 4
MIN_SUBQUERY_TOKENS = 2
# A part with fewer words is one thing.
_LEAST_CLUSTERED = 4
_LEAST_LETTERS = 3

# `and whose text tells it` asks nothing more, it says more of the same thing.
_ASKING = question_words.ENGLISH_AND_GERMAN - {"whose", "whom"}
_ASKS = rf"(?:{'|'.join(sorted(_ASKING))})"
_QUESTIONS = re.compile(
    rf"[?,;]?\s+(?:and|und|&)\s+(?={_ASKS}\b)|[?;]\s+(?={_ASKS}\b)", re.IGNORECASE
)
_STEPS = re.compile(
    r"[,;]?\s+(?:(?:and|und)\s+)?(?:then|also|danach|anschlie\u00dfend)\s+",
    re.IGNORECASE,
)
AGAINST = re.compile(
    r"\s+(?:vs\.?|versus|(?:as\s+)?compared?\s+(?:to|with)|in\s+comparison\s+(?:to|with)"
    r"|in\s+contrast\s+to|verglichen\s+mit|im\s+vergleich\s+(?:zu[mr]?|mit)"
    r"|im\s+gegensatz\s+zu[mr]?)\s+",
    re.IGNORECASE,
)
_COMPARES = re.compile(
    r"(?:please\s+)?(?:compare|comparison\s+(?:of|between)|differences?\s+between"
    r"|vergleiche|unterschiede?\s+zwischen)\s+(?:the\s+)?(?P<one>\S.*?)"
    r"\s+(?:and|with|to|und|mit|von)\s+(?P<other>\S.*)",
    re.IGNORECASE,
)
_LISTED = re.compile(
    r"[,;]\s+(?:(?:and|or|und|oder)\s+)?|,?\s+(?:as\s+well\s+as|sowie|and|or|und|oder)\s+",
    re.IGNORECASE,
)
_LEADING = re.compile(r"\A(?:then|also|danach|and|or|und|oder)\s+", re.IGNORECASE)
_OPERATOR = re.compile(r"\b(?:AND|OR|NOT)\b")
# These are blotted out by as many signs, so that places in the text stay the same.
_WHOLE = re.compile(r'"[^"]*"|\([^()]*\)')
_BLOT = "\ufffc"
_WORD = re.compile(r"[^\s,;?!\uff1f]+")
_ENDS = " \t\n,;.?!\uff1f"
_STOP_WORDS = frozenset(
    (
        *("do", "does", "did", "can", "could", "should", "would", "there", "any"),
        *("wurde", "wurden", "gab", "then", "also", "danach", "happen", "happened"),
        *("vs", "vs.", "versus", *question_words.ENGLISH_AND_GERMAN),
        *(*function_words.WORDS["en"], *function_words.WORDS["de"]),
    )
)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The parts of a question in their order, and the rule that found them."""

    question: str
    strategy: Strategy | None = None
    parts: tuple[str, ...] = ()

    @property
    def sub_queries(self) -> tuple[str, ...]:
        """Return all questions that are searched, the whole one first."""
        return (self.question, *self.parts)

    @property
    def has_parts(self) -> bool:
        """Whether the parts are things that are asked for by themselves.

        Halves of a dense question, and a list with a single word, have no such parts.
        """
        if self.strategy in {None, "clusters"}:
            return False
        least = MIN_SUBQUERY_TOKENS if self.strategy == "list" else 1
        return all(len(list_content_words(part)) >= least for part in self.parts)


def decompose(
    text: str, *, question: str | None = None, is_term: Callable[[str], bool] = bool
) -> Decomposition:
    """Take a question apart; `text` is the question without the words of its times.

    `is_term` tells which words of two letters are the facility's own.
    """
    whole = text if question is None else question
    one_thing = Decomposition(whole)
    if _OPERATOR.search(_WHOLE.sub("", text)):
        return one_thing
    masked = _WHOLE.sub(lambda found: _BLOT * len(found[0]), text)
    for strategy, split, is_viable in _STRATEGIES:
        parts = _cleaned(split(masked), text)
        if len(parts) > 1 and is_viable(parts):
            told = _distinct(parts, whole)
            if len(told) > 1:
                return Decomposition(whole, strategy, told)
    words = [one for one in _WORD.findall(text) if _counts(one, is_term)]
    if len(words) < _LEAST_CLUSTERED or _BLOT in masked:
        return one_thing
    middle = len(words) // 2
    halves = _distinct((" ".join(words[:middle]), " ".join(words[middle:])), whole)
    return Decomposition(whole, "clusters", halves) if len(halves) > 1 else one_thing


_Span = tuple[int, int]


def _compared(text: str) -> list[_Span]:
    sides = _between(AGAINST, text)
    if len(sides) == 1 and (found := _COMPARES.match(text.strip(_ENDS))):
        return [found.span("one"), found.span("other")]
    return sides


def _between(pattern: re.Pattern[str], text: str) -> list[_Span]:
    ends = [
        0,
        *(end for one in pattern.finditer(text) for end in one.span()),
        len(text),
    ]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _are_questions(parts: Sequence[str]) -> bool:
    return all(
        len(_WORD.findall(part)) >= MIN_SUBQUERY_TOKENS and list_content_words(part)
        for part in parts
    )


def _are_steps(parts: Sequence[str]) -> bool:
    return all(len(list_content_words(part)) >= MIN_SUBQUERY_TOKENS for part in parts)


def _are_sides(parts: Sequence[str]) -> bool:
    return all(map(list_content_words, parts))


def _are_listed(parts: Sequence[str]) -> bool:
    """Tell whether each part can be searched: two words, a name, or one beside two."""
    if not all(_has_letters(part) for part in parts):
        # `sector 3 and 4` is one place.
        return False
    sizes = [len(list_content_words(part)) for part in parts]
    is_name = [_is_name(part) for part in parts]
    if not all(sizes):
        return False
    return max(sizes) >= MIN_SUBQUERY_TOKENS or all(is_name)


_STRATEGIES: tuple[
    tuple[Strategy, Callable[[str], list[_Span]], Callable[[Sequence[str]], bool]], ...
] = (
    ("multi_question", partial(_between, _QUESTIONS), _are_questions),
    ("sequential", partial(_between, _STEPS), _are_steps),
    ("comparison", _compared, _are_sides),
    ("list", partial(_between, _LISTED), _are_listed),
)


def _cleaned(spans: Iterable[_Span], text: str) -> list[str]:
    """Return the texts of these spans, without signs and joining words around them."""
    parts = (text[start:end].strip(_ENDS) for start, end in spans)
    found = (_LEADING.sub("", part) for part in parts)
    return [_asked(part) for part in found if part]


def _asked(part: str) -> str:
    """Begin a part that asks with a capital letter: it is a question of its own now."""
    asks = re.match(rf"{_ASKS}\b", part, re.IGNORECASE)
    return part[0].upper() + part[1:] if asks else part


def _distinct(parts: Iterable[str], whole: str) -> tuple[str, ...]:
    """Return each part once whatever its case, and no more than are searched."""
    first = whole.strip(_ENDS).casefold()
    by_form = {part.casefold(): part for part in reversed([*parts])}
    by_form.pop(first, None)
    return tuple(reversed(by_form.values()))[: MAX_SUBQUERIES - 1]


def list_content_words(part: str) -> list[str]:
    """Return the words of a part that carry meaning, without stop words."""
    return [one for one in _WORD.findall(part) if one.casefold() not in _STOP_WORDS]


def _has_letters(part: str) -> bool:
    return any(sum(map(str.isalpha, one)) > 1 for one in _WORD.findall(part))


def _is_name(part: str) -> bool:
    """Tell whether a part is one name, as `HCM03` is."""
    words = _WORD.findall(part)
    return len(words) == 1 and any(map(str.isdigit, part)) and part[0].isalpha()


def _counts(word: str, is_term: Callable[[str], bool]) -> bool:
    """Tell whether a word of a dense question carries meaning."""
    if word.casefold() in _STOP_WORDS or not any(map(str.isalnum, word)):
        return False
    if len(word) >= _LEAST_LETTERS:
        return True
    is_short = len(word) == _LEAST_LETTERS - 1
    return is_short and (word.isupper() or any(map(str.isdigit, word)) or is_term(word))
