"""Which questions no logbook answers: live values, control actions, general physics.

Told by rules from the words alone, and only where they leave no doubt.
"""

from __future__ import annotations

import re
from typing import Literal

Outside = Literal["live_value", "control_action", "general_knowledge"]
_SIZES = (
    r"(?:\w+ ){0,2}?(?:energy|current|pressure|temperature|lifetime|status|state|value"
    r"|orbit|tune|vacuum|position|setting|mode|dose|power|intensity|voltage|gap)"
)
_RULES: dict[Outside, re.Pattern[str]] = {
    "control_action": re.compile(
        r"^(?:please )?(?:set|ramp|increase|decrease|raise|lower|change|move|drive)\s"
        r"(?:the |all |both )?\w.{0,80}?\s(?:to|by)\s[-+]?\d"
        r"|^(?:please )?(?:turn|switch) (?:on|off) (?:the|all|both)\b"
        r"|^(?:please )?(?:turn|switch) (?:the|all|both) .{1,60} (?:on|off)[.!]?$"
        r"|^(?:bitte )?(?:setze?|stelle?|schalte?|fahre?)\s+(?:den|die|das)\b.{0,80}"
        r"(?:\bauf\s[-+]?\d|\b(?:ein|aus|ab|an)[.!]?$)",
        re.IGNORECASE,
    ),
    "live_value": re.compile(
        rf"\b(?:what(?:'s| is| are)|how (?:much|many|high)|show(?: me)?|was ist|wie)\b"
        rf".*\b(?:right now|at the moment|currently|at present|this instant"
        rf"|gerade jetzt|im moment|im augenblick)\b"
        rf"|\bwhat(?:'s| is) the (?:current|present|live|actual|momentary) {_SIZES}\b"
        rf"|^(?:the )?current beam \w+\??$"
        rf"|\bwie (?:hoch|gro\u00df) ist (?:der|die|das) (?:aktuelle|momentane)",
        re.IGNORECASE,
    ),
    "general_knowledge": re.compile(
        r"^(?:how|why) (?:does|do) (?:an? |the )?[\w -]{3,40} work\??$"
        r"|^what is an? [\w -]{3,40}\??$"
        r"|^explain (?:the )?(?:physics|principle|theory)\b"
        r"|^wie funktioniert (?:ein|eine|der|die|das)\b"
        r"|^was ist eine? [\w -]{3,40}\??$",
        re.IGNORECASE,
    ),
}


def find_outside(question: str) -> Outside | None:
    """Return why a question is none for a logbook; None: it may be one."""
    text = " ".join(question.split())
    return next((name for name, rule in _RULES.items() if rule.search(text)), None)
