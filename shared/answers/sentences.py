"""An answer without a model: the best sentence of each of the best results."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.search.query.plan import Plan
from shared.search.results.hit import Hit
from shared.text.analysis.tokens import scan

# A sentence of a log that never ends is cut between two words.
MAX_CHARACTERS = 300
_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z])|\s*\n\s*")
# What an entry writes as a citation, ours would be taken for.
_CITED = re.compile(r"\[(\s*(?:#[^\[\]]{0,64}|\d[\d\s,;-]{0,64}))\]")
_CLOSED = re.compile(r"[.!?:;,\s]*$")


def answer_question(plan: Plan, hits: Sequence[Hit]) -> str | None:
    """Return the answer that a plan asks for: a sentence of each of its best hits."""
    asked = plan.detail.synthesis
    if asked is None:
        return None
    texts = [hit.content for hit in hits[: asked.max_sources]]
    return synthesize(plan.query, texts, marked=asked.marked)


def synthesize(query: str, texts: Sequence[str], *, marked: bool = True) -> str | None:
    """Return a sentence of each text, `[n]` naming the nth; None without texts.

    What two texts say alike is said once, with both marks. A text cites nobody: what it
    has in brackets for a mark comes out in parentheses.
    """
    asked = _terms(query)
    said: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        sentence = _uncited(best_sentence(asked, text))
        if sentence:
            said.setdefault(sentence, []).append(number)
    told = [_closed(text, numbers if marked else []) for text, numbers in said.items()]
    return " ".join(told) or None


def best_sentence(asked: frozenset[str], text: str) -> str:
    """Return the sentence with most of the terms asked for; the first of equals."""
    sentences = [part.strip() for part in _END.split(text) if part.strip()]
    best = max(sentences, key=lambda one: len(asked & _terms(one)), default="")
    if len(best) <= MAX_CHARACTERS:
        return best
    return best[:MAX_CHARACTERS].rpartition(" ")[0] + "\u2026"


def _uncited(sentence: str) -> str:
    return _CITED.sub(r"(\1)", sentence).replace("[#", "(#")


def _closed(sentence: str, numbers: Sequence[int]) -> str:
    marks = "".join(f"[{number}]" for number in numbers)
    if sentence.endswith("\u2026"):
        return f"{sentence} {marks}".strip()
    bare = _CLOSED.sub("", sentence)
    end = sentence[len(bare) :].strip()
    end = end if end in {"!", "?"} else "."
    return f"{bare} {marks}{end}" if marks else f"{bare}{end}"


def _terms(text: str) -> frozenset[str]:
    return frozenset(token.term for token in scan(text, "en"))
