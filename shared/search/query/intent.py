"""What a question is for: told from its words alone.

A rule that is not sure says nothing: most of what is typed is a few words to be found.
"""

import re
from dataclasses import replace
from typing import Literal

from shared.search.query.decomposition import decompose
from shared.search.query.language.tree import And, Node, Pattern, Phrase, Words
from shared.text.words.question_words import ENGLISH_AND_GERMAN as ASKING
from shared.text.words.question_words import WHETHER_NOW

# Words that may stand before the word that asks: `since when`, `in welchem Sektor`.
_BEFORE = frozenset(
    (
        *("and", "at", "but", "by", "for", "from", "in", "of", "on", "since", "to"),
        *("with", "an", "auf", "aus", "bei", "bis", "durch", "mit", "nach", "seit"),
        *("um", "und", "von", "vor", "zu"),
    )
)
# What begins with one of these asks for yes or no. `Do not operate` stands on a tag,
# and `can` is a bus.
_YES_OR_NO = WHETHER_NOW | {"were", "did", "war", "waren", "wurde", "wurden", "gibt"}
# A comparison has two sides of at least one word each.
_COMPARES = (
    rf"\S{decompose.AGAINST.pattern}\S"
    r"|\b(?:compar(?:e|es|ing|ison of|ison between)|differences? between"
    r"|vergleich(?:e|en)?|unterschiede?s? zwischen) \S"
)
Intent = Literal[
    "lookup",
    "exact",
    "question",
    "compare",
    "troubleshoot",
    "timeline",
    "recent",
    "count",
]
# The first that fits: who asks why something happened wants more than what happened.
_FOR: dict[Intent, re.Pattern[str]] = {
    "count": re.compile(
        r"\bhow (?:many|often|frequently)\b|\bnumber of times\b|\bcount of\b"
        r"|^count (?:the|all|how)\b|\bwie (?:viele?[nr]?|oft|h\u00e4ufig)\b"
        r"|\banzahl (?:der|von|aller)\b"
    ),
    "compare": re.compile(_COMPARES),
    "troubleshoot": re.compile(
        r"\b(?:why|warum|wieso|weshalb|weswegen)\b|\btroubleshoot|\bfehlersuche\b"
        r"|\bcauses? (?:of|for)\b|\bcaused(?: by)?\b|\breasons? (?:for|of|why)\b"
        r"|\bursachen?\b|\bverursacht|\bgrund f\u00fcr\b|\bwodurch\b"
        r"|\bhow\b.{1,80}\b(?:fix|repair|solve|resolve|clear|recover|handle|reset)"
        r"|\bwie\b.{1,80}\b(?:behoben|beheben|repariert|gel\u00f6st|l\u00f6sen)"
    ),
    "timeline": re.compile(
        r"\bwhat (?:has )?happened\b|\bhistory of\b|\btimeline\b|\bchronolog"
        r"|\bsequence of events\b|\bled (?:up )?to\b|\bwas geschah\b|\bverlauf\b"
        r"|\bwas (?:ist|war)\b.{0,80}\b(?:passiert|geschehen)\b|\bvorgeschichte\b"
    ),
    "recent": re.compile(
        r"\b(?:latest|newest|most recent|recent|recently|last time|zuletzt)\b"
        r"|\bk\u00fcrzlich\b|\bneue?ste[mnrs]?\b|^(?:the )?last\b"
        r"|^(?:d(?:er|ie|as) )?letzte[mnrs]?\b"
        r"|\bwhen\b.{1,80}\blast\b|\bwann\b.{1,80}\bletzte"
    ),
}
_ENDS = "?\uff1f"
_SIGNS = ",.:;\u00bf"
_ALL = r"(?:all|everything|anything|alles?)"
# A bare `list` or `find` may be a word of what is looked for: `list of spares`.
_REQUEST = re.compile(
    r"(?:(?:please|bitte)\s+)?"
    r"(?:(?:(?:tell|show|give|find|list)\s+(?:me|us)"
    rf"|(?:zeige?|sage?|gib|suche?|finde|erz\u00e4hle?)\s+(?:mir|uns))(?:\s+{_ALL})?"
    rf"|(?:list|find|show|search\s+for|look\s+for)\s+{_ALL}"
    r"|what\s+do\s+(?:we|you)\s+know|was\s+wei\u00dft\s+du|was\s+wissen\s+wir)"
    r"(?:\s+(?:the\s+|die\s+)?(?:entries|entry|reports?|eintr\u00e4ge))?"
    r"(?:\s+(?:about|on|of|for|regarding|with|\u00fcber|zu|von|mit))?"
    r"\s+(?=\S)",
    re.IGNORECASE,
)


def is_question(node: Node | None, text: str) -> bool:
    """Tell whether the text asks for an answer, by its first word or its end."""
    words = " ".join(_typed(node)).casefold().split()
    first, second, *_ = (*(one.strip(_SIGNS) for one in words[:2]), "", "")
    asks = first in ASKING or (first in _BEFORE and second in ASKING)
    asks_whether = first in _YES_OR_NO and bool(second)
    return asks or asks_whether or _ends_asking(node, text)


def classify_intent(node: Node | None, text: str, *, is_exact: bool) -> Intent:
    """Return the intent of a question; `exact` where it has only names and phrases."""
    if is_exact:
        return "exact"
    words = " ".join(_typed(node)).casefold()
    for intent, said in _FOR.items():
        if said.search(words):
            return intent
    return "question" if is_question(node, text) else "lookup"


def _typed(node: Node | None) -> list[str]:
    """Return the words that were typed side by side; a quoted phrase is one word.

    A question with AND, OR or NOT is exact already and has no such words.
    """
    match node:
        case Words(text):
            return [text]
        case Phrase(text) | Pattern(text):
            return ["_".join(text.replace(",", " ").split())]
        case And(parts, is_written=False):
            return [word for part in parts for word in _typed(part)]
        case _:
            return []


def _ends_asking(node: Node | None, text: str) -> bool:
    """Tell whether the text ends in a `?` that is not a wildcard of a name."""
    last = node.parts[-1] if isinstance(node, And) else node
    is_wild = isinstance(last, Pattern) and last.text.endswith(_ENDS[0])
    return text.rstrip().endswith(tuple(_ENDS)) and not is_wild


def strip_request(node: Node | None) -> Node | None:
    """Return a question without the words that only ask to be told or shown."""
    match node:
        case Words():
            return _strip_words(node)
        case And([Words() as first, *others], is_written=False):
            return replace(node, parts=(_strip_words(first), *others))
        case _:
            return node


def _strip_words(words: Words) -> Words:
    found = _REQUEST.match(words.text)
    end = found.end() if found else 0
    return Words(words.text[end:], words.start + end)
