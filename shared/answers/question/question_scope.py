"""Which questions no logbook answers: live values, control actions, general physics.

Told by rules from the words alone, and only where they leave no doubt. What answers
refuse and what an orchestrator sends elsewhere is the same.
"""

import re
from typing import Literal

Outside = Literal["live_value", "control_action", "general_knowledge", "other_task"]
# What is asked for politely is asked for all the same.
_POLITE = r"^(?:please,? |bitte |(?:can|could|would|will) you (?:please )?)*"
_SIZES = (
    r"(?:\w+ ){0,2}?(?:energy|current|pressure|temperature|lifetime|status|state|value"
    r"|orbit|tune|vacuum|position|setting|mode|dose|power|intensity|voltage|gap)"
)
_DEVICES = (
    r"(?:beam|shutter|valve|interlock|laser|magnet|pump|klystron|gun|injector|linac"
    r"|ring|kicker|feedback|cavity|rf|undulator|door)"
)
_STATES = r"(?:on|off|open|closed|up|down|running|available|enabled|stable)"
_PHYSICS = (
    r"(?:radiation|emittance|chromaticity|luminosity|superconductivity|bremsstrahlung"
    r"|oscillations?|focusing|acceleration|relativity|instabilit(?:y|ies))"
)
# Whoever speaks of these wants what a logbook holds, whatever is to be done with it.
_LOGBOOK = re.compile(
    r"\b(?:log ?books?|logs?|entr(?:y|ies)|shifts?|hand-?over|incidents?|happened"
    r"|schicht|eintr(?:a|ä)ge?)\b",
    re.IGNORECASE,
)
# What has to be written down to be known, whatever is asked of it.
_WRITTEN = re.compile(
    r"\b(?:fail\w*|faults?|investigations?|issues?|known|problems?|reasons?|repairs?"
    r"|replacements?|trips?|upgrades?|workarounds?|reparatur\w*|ersatz\w*"
    r"|st(?:\u00f6|oe)rung\w*)\b",
    re.IGNORECASE,
)
# `Drive motor current rose to 12 A` tells what happened.
_TOLD = (
    r"(?!.{0,80}\b(?:rose|fell|sank|went|climbed|dropped|drifted|jumped|tripped|changed"
    r"|increased|decreased|moved|is|are|was|were|has|had)\b)"
)
_RULES: dict[Outside, re.Pattern[str]] = {
    "control_action": re.compile(
        rf"{_POLITE}{_TOLD}(?:set|ramp|increase|decrease|raise|lower|change|move|drive)\s"
        r"(?:the |all |both )?\w.{0,80}?\s(?:to|by)\s[-+]?\d"
        rf"|{_POLITE}(?:turn|switch) (?:on|off) (?:the|all|both)\b"
        rf"|{_POLITE}(?:turn|switch) (?:the|all|both) .{{1,60}} (?:on|off)[.!?]?$"
        rf"|{_POLITE}(?:open|close|reset|restart|start|stop|enable|disable|insert"
        r"|retract|acknowledge|dump|inject) (?:the|all|both) [\w -]{2,40}[.!?]?$"
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
        rf"|^(?:is|are) (?:the )?(?:[\w-]+ ){{0,2}}?{_DEVICES}s?(?: \w*\d\w*)?"
        rf" (?:still )?{_STATES}(?: now)?\??$"
        rf"|\bwie (?:hoch|gro\u00df) ist (?:der|die|das) (?:aktuelle|momentane)",
        re.IGNORECASE,
    ),
    "general_knowledge": re.compile(
        r"^(?:how|why) (?:does|do) (?:an? |the )?[\w -]{3,40} work\??$"
        r"|^what is an? [\w -]{3,40}\??$"
        rf"|^what (?:is|are) (?:\w+ ){{0,2}}{_PHYSICS}\??$"
        r"|^what(?:'s| is) the difference between an? "
        r"|^what does [\w-]{1,20} stand for\??$"
        r"|^(?:define|derive|prove) "
        r"|^explain (?:the )?(?:physics|principle|theory)\b"
        r"|^explain (?:to me )?(?:how|what) an? "
        r"|^wie funktioniert (?:ein|eine|der|die|das)\b"
        r"|^was ist eine? [\w -]{3,40}\??$",
        re.IGNORECASE,
    ),
    "other_task": re.compile(
        rf"{_POLITE}(?:write|compose|draft|translate|calculate|compute|convert|plot"
        r"|simulate|optimi[sz]e|schedule|book|remind|tell me a joke|send|e-?mail) "
        # These are things: `schedule for the shutdown`, `email server down`.
        r"(?!(?:of|for|from|server|system|cluster|nodes?|list)\b)"
        r"|\bweather forecast\b",
        re.IGNORECASE,
    ),
}


def find_outside(question: str) -> Outside | None:
    """Return why a question is none for a logbook; None: it may be one."""
    text = " ".join(question.split())
    found = next((name for name, rule in _RULES.items() if rule.search(text)), None)
    written = _LOGBOOK if found == "other_task" else _WRITTEN
    if found == "control_action" or not written.search(text):
        return found
    return None
