"""What kind of answer a question asks for."""

import re
from typing import Literal

from shared.answers.question.counts import find_counted
from shared.text.words import question_words
from shared.text.words.folding import fold_surface

AnswerKind = Literal[
    "why", "when", "how_long", "how_many", "how_much", "who", "where", "which", "what"
]
# Tried in this order: `how long` is no `how`.
_ASKS: dict[AnswerKind, re.Pattern[str]] = {
    "why": re.compile(
        r"\b(?:why|how come|warum|wieso|weshalb|weswegen|wodurch|pourquoi|perch\u00e9"
        r"|por qu\u00e9)\b|\b(?:what|which|who) (?:\w+ ){0,2}?caused?\b"
        r"|\bwhat (?:made|makes|triggered|led to)\b|\bwas hat\b.*\bausgel\u00f6st\b"
        r"|\b(?:qui a|cosa ha|qu\u00e9) (?:provoqu\u00e9|d\u00e9clench\u00e9|provocato"
        r"|provoc\u00f3)"
        r"|\bcauses? (?:of|for)\b|\breasons? (?:for|of|why)\b|\bdamaged\b"
        r"|\b(?:cause|raison|causa|motivo|raz\u00f3n) d(?:es?|u|i|ell?[aeo]?|egli)?\b"
        r"|\bursachen?\b|\bverursacht|\bgrund f\u00fcr\b"
        r"|\bcaus(?:\u00e9|ato|\u00f3)\b",
        re.IGNORECASE,
    ),
    "how_long": re.compile(
        r"\bhow long\b|\bhow many (?:seconds|minutes|hours|days|weeks|months)\b"
        r"|\bwie lange?\b|\bwie viele (?:sekunden|minuten|stunden|tage|wochen)\b"
        r"|\bcombien de temps\b|\bquanto tempo\b|\bcu\u00e1nto tiempo\b",
        re.IGNORECASE,
    ),
    "how_much": re.compile(
        r"\bhow (?:much|many|deep|full|high|low|large|big|far|fast|hot|cold|strong)\b"
        r"|\b(?:how|wie) (?:often|frequently|oft|h\u00e4ufig)\b"
        r"|\bwie (?:viele?|hoch|tief|gro\u00df|voll|weit|hei\u00df|kalt|stark)\b"
        r"|\b(?:at )?(?:what|which) (?:fraction|share|percentage|current|voltage"
        r"|pressure|temperature|limit|value|price|cost|rate|size|availability|noise"
        r"|length|energy|budget|emittance|(?:\w+ ){1,2}emittance)\b"
        r"|\bwhat (?:is|was|were) the (?:\w+ ){0,4}?(?:limit|value|gap|availability"
        r"|price|cost|length|pressure|temperature|current|voltage|energy|noise|size"
        r"|budget|rate|number|level|dose|emittance|lifetime)\b|\bcombien\b|\bquanto\b"
        r"|\bquant[ie]\b|\bcu[a\u00e1]nt[oa]s?\b",
        re.IGNORECASE,
    ),
    "when": re.compile(
        # Between other words each but the German one joins: `what did it do when`.
        r"(?:\A|[.?!;:]|\b(?:since|until|till|from|by|about|and|or|out|know|say|tell|me"
        r"|depuis|\u00e0|de|et|ou|savoir|dire|da|di|a|e|o|sapere|desde|y|saber))\W*"
        r"\b(?:when|quand|quando|cuando)\b(?![^?]*,\s*(?:what|which|who|how|where|why"
        r"|is|was|were|do|did|does|can|must|should)\b)"
        r"|\bwhen (?:is|are|was|were|did|do|does|has|have|had|will)\b"
        r"|\b(?:when|quand|quando)\W*\Z|\b(?:wann|cu\u00e1ndo)\b"
        r"|\b(?:at )?what (?:time|date|day)\b|\bon which day\b",
        re.IGNORECASE,
    ),
    "who": re.compile(
        r"\b(?:who|whom|whose|wer|wem|wen|wessen|chi|qui\u00e9n)\b"
        # What stands before it else is what it tells more of: `la pompe qui fuyait`.
        r"|(?:\A|\b(?:\u00e0|par|avec|de|pour|chez|et|savoir|dire))\W*\bqui\b"
        r"|\bwhich (?:company|operator|person|group|team|firm|vendor)\b"
        r"|\bwelche (?:firma|person|gruppe)\b|\bwie hei\u00dft der\b",
        re.IGNORECASE,
    ),
    "where": re.compile(
        r"\b(?:where|wo|wohin|woher|o\u00f9|dove|d\u00f3nde)\b"
        r"|\bin (?:which|what) (?:room|sector|cell|building|hall|rack)\b",
        re.IGNORECASE,
    ),
    "which": re.compile(
        r"\b(?:which|welche[mnrs]?|quel(?:le)?s?|quale)\b", re.IGNORECASE
    ),
}
# How something is now is told by what was written last, in whatever words: who asks
# whether it is repaired is answered by `replaced the O ring` as well.
_ASKS_STATE = re.compile(
    rf"\A\W*(?:{'|'.join(sorted(question_words.WHETHER_NOW))}"
    r"|do|funktioniert|l\u00e4uft|geht|est|sont|y a-t-il|\u00e8|c['\u2019]\u00e8|sono"
    r"|est\u00e1n?|sigue|hay)\b|\b(?:est|sont)-(?:ils?|elles?)\b"
    r"|\A(?:il|lo|la|i|gli|le|l['\u2019]) ?.*\b(?:\u00e8|sono)\b"
    r"|\A\W*(?:el|la|los|las) .*\best\u00e1n?\b",
    re.IGNORECASE,
)
_STATES = """
    cured done fine finished fixed mended ok okay online operational ready repaired
    resolved running runs solved works working behoben beseitigt erledigt fertig
    funktioniert gel\u00f6st geht l\u00e4uft ordnung repariert
"""
# These are said of much else, too: `retracted once again`.
_LASTING = "again already back still yet immer noch schon wieder"
_CHANGES = """
    cleared exchanged fastened installed recovered reset restarted restored replaced
    swapped ausgetauscht eingebaut ersetzt getauscht gewechselt zur\u00fcckgesetzt
"""
_SURE, _WEAK, _CHANGED = (
    frozenset(fold_surface(word, "en") for word in words.split())
    for words in (_STATES, _LASTING, _CHANGES)
)
_STATE_WORDS = _SURE | _WEAK
# Behind them a time is named: `last night`.
_ASKS_LAST = re.compile(
    r"\b(?:last|latest)\b(?! (?:\d|few|couple|night|shift|day|week|month|year|\w+day\b"
    r"|morning|evening|afternoon|spring|summer|autumn|winter|shutdown|run))"
    r"|\b(?:status|state|condition) of\b"
    r"|\b(?:status|zustand|stand) (?:von|der|des|vom)\b"
    r"|\b(?<!semaine )(?<!nuit )(?<!mois )(?<!ann\u00e9e )"
    r"(?:letzte[nrsm]?|derni(?:er|\u00e8re)|[u\u00fa]ltim[oa])\b(?! (?:\d|\w+tag\b"
    r"|\w*(?:nacht|schicht)|woche|monat|jahr|stunde|nuit|jour|semaine|mois|ann\u00e9e"
    r"|heure|notte|giorno|settimana|mese|anno|ora\b|turno|noche|d\u00eda|semana|mes\b"
    r"|a\u00f1o|hora\b))|\bl['\u2019]\u00e9tat d|\blo stato d|\bel estado d"
    r"|\bmost recent|\bzuletzt\b",
    re.IGNORECASE,
)
_LAST_WORDS = """
    last latest most recent recently time zuletzt letzte letzten letzter letztes mal
    dernier derni\u00e8re fois ultimo ultima volta \u00faltimo \u00faltima vez status
    state condition zustand stand \u00e9tat stato estado
"""
_LAST = frozenset(fold_surface(word, "en") for word in _LAST_WORDS.split())
_ASKS_HOW_TO = re.compile(
    r"\bhow (?:(?:do|can|should|must|shall) (?:we|you|i|one|they)|does one|to)\b"
    r"|\bwhat (?:to|(?:do|can|should|must|shall) (?:we|you|i|one|they|be))"
    r" (?:do|done)\b"
    r"|\bwas (?:tun|machen|(?:tue|tut|tun|mache|macht|machen) (?:ich|man|wir))\b"
    r"|\bwas (?:ist|muss|soll)\b.*\btun\b|\bwie \w+ (?:ich|man|wir)\b"
    r"|\b(?:que|quoi) faire\b|\bcomment (?:\w+(?:er|ir|re)|on|faut)\b"
    r"|\b(?:cosa|che) (?:fare|si fa)\b|\bcome (?:si|\w+re)\b"
    r"|\bqu\u00e9 (?:hacer|se hace|hay que hacer)\b|\bc\u00f3mo (?:se|\w+[aei]r)\b",
    re.IGNORECASE,
)
_ASKS_AUTHOR = re.compile(
    r"\b(?:who|wer|qui|chi|qui[e\u00e9]n)\b.*\b(?:wrote|written|writes?|geschrieben"
    r"|schrieb|verfasste?|\u00e9crit|scritto|escribi[o\u00f3]|escrito)\b",
    re.IGNORECASE,
)
# In a question of how something is done these say nothing of it.
_DOING_WORDS = """
    handle deal proceed case event fall falle machen vorgehen tun passiert faire cas
    proc\u00e9der fare caso procedere hacer proceder
"""
_DOING = frozenset(fold_surface(word, "en") for word in _DOING_WORDS.split())
_LETTERS = re.compile(r"[^\W\d_]+")


def find_kind(question: str) -> AnswerKind:
    """Return the kind of answer that a question asks for; `what` if it says nothing."""
    for kind, asks in _ASKS.items():
        if asks.search(question):
            is_count = kind == "how_much" and find_counted(question)
            return "how_many" if is_count else kind
    return "what"


def asks_state(question: str) -> bool:
    """Tell whether a question is of how something is now."""
    return bool(_ASKS_STATE.search(question))


def asks_last(question: str) -> bool:
    """Tell whether a question is of the last time that something happened."""
    return bool(_ASKS_LAST.search(question))


def asks_author(question: str) -> bool:
    """Tell whether a question is of who wrote something."""
    return bool(_ASKS_AUTHOR.search(question))


def asks_how_to(question: str) -> bool:
    """Tell whether a question is of how something is done, as procedures tell it."""
    return bool(_ASKS_HOW_TO.search(question))


def is_state_word(word: str) -> bool:
    """Tell whether a word names a state for which an entry may have other words."""
    return fold_surface(word, "en") in _STATE_WORDS


def is_last_word(word: str) -> bool:
    """Tell whether a word only asks for the last time."""
    return fold_surface(word, "en") in _LAST


def is_doing_word(word: str) -> bool:
    """Tell whether a word only asks how something is done."""
    return fold_surface(word, "en") in _DOING


def tells_state(sentence: str, language: str, *, surely: bool = False) -> bool:
    """Tell whether a sentence says how something is, or was put right.

    `surely`: in words that are said of hardly anything else.
    """
    telling = _SURE | _CHANGED if surely else _STATE_WORDS | _CHANGED
    return any(
        fold_surface(word, language) in telling for word in _LETTERS.findall(sentence)
    )
