"""What a text tells of locks against energy: where one was applied, where removed.

A lock that is taken for removed and is not may cost a life, one that is listed too long
costs a look: what is not sure removes nothing.
"""

import functools
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from shared.text.reading.incidents import sentences

_NAMED = (
    r"(?:LOTO|lock[ -]?out|lock|tag[ -]?out|tag|schloss|schild|sperre|cadenas"
    r"|consignation|lucchetto|candado|bloqueo|blocco)"
)
_NUMBER = re.compile(
    rf"\b{_NAMED}(?:[ ,:#-]|no\b|nr\b|number\b|nummer\b|\.){{0,5}}((?:\d[\w/-]*)?\d)\b",
    re.IGNORECASE,
)
_HUNG = (
    r"(?:verrouillages?|verrous?|blocc(?:o|hi)|bloqueos?) (?:\S{1,20} ){0,3}?"
    r"(?:(?:ap)?pos\u00e9|mis|retir\u00e9|enlev\u00e9|lev\u00e9|applicat|apposto|appost"
    r"|messo|rimoss|tolt|aplicad|puest|colocad|retirad|quitad)(?:[oaie]|e?s?|[oa]s)"
)
_LOCKS = (
    r"(?:LOTO[\w-]{0,40}+|lock(?:ed)?[ -]?outs?|lock(?:s|ed)? and tag(?:s|ged)?"
    r"|tag(?:ged)?[ -]?outs?|(?:danger|red)[ -]tag(?:s|ged)?|locked with"
    r"|padlock(?:s|ed)?"
    r"|(?:un)?lock(?:s|ed)? (?:on|at|of|from)|(?:locks?|tags?) (?:is |are |was |were )?"
    r"(?:\S{1,20} )?(?:removed|lifted|cleared|released|taken off|applied)"
    r"|(?:removed|lifted|cleared|released|applied) (?:\S{1,20} )?(?:locks?|tags?)"
    # In small letters it shut something.
    r"|sperren?|gesperrt|(?-i:Schl(?:o|\u00f6)sse?r?|SCHL(?:O|\u00d6)SSE?R?)"
    r"|freigeschaltet"
    # A French `consigne` is a value, an Italian `blocco` mostly a trip.
    r"|(?:d\u00e9)?consign(?:ation|\u00e9e?)s?|cadenas(?:s\u00e9e?s?)?"
    rf"|{_HUNG}"
    r"|lucchett[oi]|candados?|bloqueo y etiquetado)\b"
)
_LOCK = re.compile(rf"\b{_LOCKS}", re.IGNORECASE)
# What locks by itself: a relay that trips, a loop that holds a phase, a satellite.
_NO_ENERGY = re.compile(
    r"\b(?:PLL|GPS|NTP|phase|laser|loop|frequency|reference|servo|mode|feedback|relays?"
    r"|transformer|generator|turbine|bus|bank|primary|protective|86\w*|heater"
    r"|(?:re)?gain(?:ed|s)?|lost|loses?|in)"
    r"['\u2019\"),]{0,3} (?:\S{1,12} )?[\"'\u201c]?"
    r"(?:lock(?:ed)?[ -]?outs?|lock(?:s|ed)? (?:on|at|of|from))\b"
    r"|\block[ -]?outs?[\"'\u201d,]{0,2} (?:relay|set ?point|position|condition|mode"
    r"|switch|86\w*|(?:was |is )?(?:caused|reset|tripped)|includ)"
    r"|\block(?:ed)?[ -]?out (?:due to|on|of|by) (?:a|an|the)?\s?(?:\S{1,12} ){0,2}"
    r"(?:fault|over-?current|bus|transformer|generator|trip)"
    r"|\block(?:ed)? (?:on|at|of|from) (?:\S{1,12} )?(?:\d[\d.,]* ?[kMG]?Hz|signal"
    r"|satellites?|resonance|beam|target|frequency|phase|harmonic)",
    re.IGNORECASE,
)
# Talk of locks, and of locks that there are not or not yet. A number is of one that is.
_NO_LOCK = re.compile(
    r"\b(?:no|not?|without|kein\w*|ohne|never|will|to|must|should|shall|needs?|may|can"
    r"|could|would|if|whether|muss|m\u00fcssen|soll\w*|wird|werden|kann|pas de|aucune?"
    r"|sans|sera|doit|faut|nessun[oa]?|senza|sar\u00e0|deve|sin|ning\u00fan|ser\u00e1|debe)"
    rf" (?:\S{{1,20}} ){{0,2}}{_LOCKS}"
    rf"|\b{_LOCKS} (?:is |was |are )?(?:not )?(?:required|needed|necessary|planned"
    r"|erforderlich|n\u00f6tig|geplant|training|course|refresher|procedure|audit|policy"
    r"|schulung|unterweisung)\b"
    rf"|\b{_LOCKS}[^,;]{{0,20}}:? (?:none|nil|keine?|n/a|list|board|empty)\b"
    rf"|\b{_LOCKS}[^,;]{{0,40}} (?:broken|cut|stolen|jammed|stuck|defekt|kaputt"
    r"|klemmt)\b",
    re.IGNORECASE,
)
# Each language by itself, for a German `Tag` is a day: a lock, locks, and their end.
_REMOVALS = (
    (
        r"(?:LOTO[\w-]{0,40}+|(?:lock|tag)[ -]?outs?|(?:pad)?locks?|tags?)\b",
        r"(?:LOTOs|(?:lock|tag)[ -]?outs|(?:pad)?locks|tags)\b",
        r"\b(?:removed|lifted|taken off|cleared|released|returned|crossed off)\b",
    ),
    (
        r"(?:LOTO[\w-]{0,40}+|sperren?|schl(?:o|\u00f6)sse?r?|schild(?:er)?)\b",
        r"(?:LOTOs|sperren|schl\u00f6sser|schilder)\b",
        r"\b(?:entfernt|aufgehoben|abgenommen|ausgetragen|zur\u00fcckgenommen)\b",
    ),
    (
        r"(?:LOTO[\w-]{0,40}+|consignations?|cadenas|verrou(?:illage)?s?)\b",
        r"(?:LOTOs|consignations|verrous)\b",
        r"\b(?:retir\u00e9|enlev\u00e9|lev\u00e9)e?s?\b",
    ),
    (
        r"(?:LOTO[\w-]{0,40}+|lucchett[oi]|blocc(?:o|hi)|cartell[oi])\b",
        r"(?:LOTO|lucchetti|blocchi|cartelli)\b",
        r"\b(?:rimoss|tolt)[oaie]\b",
    ),
    (
        r"(?:LOTO[\w-]{0,40}+|candados?|bloqueos?|tarjetas?)\b",
        r"(?:LOTO|candados|bloqueos|tarjetas)\b",
        r"\b(?:retirad|quitad)[oa]s?\b",
    ),
)
# Between a lock and its removal, these begin with another thing: `LOTO with fuses
# removed`. Before a lock, more than these is another thing: `pump removed under LOTO`.
_ANOTHER = (
    r"\b(?:then|dann|for|f\u00fcr|before|bevor|but|aber|with|mit|while|as|because|since"
    r"|until|after|where|which|whose|under|unter|applied|hung|placed|installed|attached"
    r"|in place|set|gesetzt|angebracht|keys?|area|puis|pour|avant|mais|avec|pendant"
    r"|apr\u00e8s|qui|dont|sous|(?:ap)?pos\u00e9e?s?|mise?s?|cl\u00e9s?|poi|per|prima|ma|con"
    r"|mentre|dopo|che|sotto|applicat\w|mess[oaie]|luego|para|antes|pero|mientras"
    r"|despu\u00e9s|que|bajo|aplicad\w{1,2}|puest\w{1,2}|colocad\w{1,2})\b"
)
_AND = r"\b(?:and|und|et|e|y)\b"
_WHICH = (
    r"(?:(?:the|all|both|these|those|our|any|my|his|her|their|die|das|alle|beide|\d+"
    r"|les?|la|tou(?:te)?s|il|i|gli|tutt[ie]|el|los|las|todos) )"
)
_REMOVED = re.compile(
    "|".join(
        rf"\b{lock}(?: (?:and|with|und|mit|&) {lock})?"
        rf"(?:(?!{_ANOTHER}|{_AND})[^,;!?]){{0,80}}?{done}"
        # Locks may be on one device and another.
        rf"|\b{locks}(?:(?!{_ANOTHER}|{_AND}(?! [^\W\d]\S*\d))[^,;!?]){{0,80}}?{done}"
        rf"|{done} {_WHICH}{{0,3}}{lock}"
        for lock, locks, done in _REMOVALS
    )
    + r"|\bd\u00e9consign\u00e9e?s?\b",
    re.IGNORECASE,
)
# Before a removal: it has not come.
_NOT_YET = re.compile(
    r"\b(?:not|no|never|until|before|will|to be|can|may|must|should|shall|if|when|once"
    r"|after|unless|cannot|\w{2,6}n['\u2019]t|nicht|kein\w*|bis|bevor|wird|werden|kann"
    r"|darf|muss|soll\w*|wenn|falls|sobald|nachdem|erst|ne|pas|jamais|avant|sera|seront"
    r"|doit|doivent|peut|peuvent|si|quand|apr\u00e8s|jusqu|\u00eatre|non|mai|prima|sar\u00e0"
    r"|saranno|dev\w+|pu\u00f2|se|quando|dopo|finch\u00e9|essere|nunca|antes|ser\u00e1n?|debe\w*"
    r"|puede\w*|cuando|despu\u00e9s|hasta|ser)\b",
    re.IGNORECASE,
)
# A removal beside these was asked for, was of some locks, or was not for good; and what
# is released for work is locked.
_NOT_SURE = re.compile(
    r"\?|\b(?:please|bitte|one of|some of|partly|first|my|his|her|their|eine[sr]? der"
    r"|mein\w*|teilweise|temporarily|vor\u00fcbergehend|put back"
    r"|(?:removed|released) from service|re-?(?:appl|install|hung)\w*"
    r"|wieder (?:angebracht|gesetzt)|(?:cleared|released) (?:for|to)"
    r"|merci de|pri\u00e8re|veuillez|une? des|certaine?s?|mon|provisoirement|remise?s?"
    r"|per favore|un[oa] dei|alcuni|mio|provvisoriamente|rimess\w|por favor|un[oa] de"
    r"|algunos|mi|provisionalmente|vuelt\w{1,2})\b",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:still|remains?|stays?|continues?|noch|weiterhin|weiter|bleib\w*|toujours"
    r"|encore|reste|ancora|rimane|resta|todav\u00eda|a\u00fan|sigue)\b",
    re.IGNORECASE,
)
_WRAPPED_CHARS = 80
# Each pattern of a lock, and of a removal, has one of these.
_HINTS = (
    *("lock", "loto", "tag", "sperr", "schlo", "schl\u00f6", "schild", "freigesch"),
    *("consign", "cadenas", "verrou", "lucchett", "blocc", "candado", "bloqueo"),
)
_ALL = re.compile(
    r"\b(?:all|both|every|alle\w?|beide\w?|s\u00e4mtliche\w?|tou(?:te)?s|tutt[ie]"
    r"|tod[oa]s)\b",
    re.IGNORECASE,
)


class LockStatement(NamedTuple):
    """A sentence that tells of a lock, and what became of it."""

    start: int
    end: int
    what: Literal["lock_applied", "lock_removed"]
    # The numbers that locks are called by.
    numbers: frozenset[str] = frozenset()
    # An applied one was told of before; of removed ones there may be many.
    is_again: bool = False
    is_all: bool = False


# Those of a year are read for every digest; a text has at most 10,000 characters.
@functools.lru_cache(maxsize=2048)
def find_locks(text: str) -> tuple[LockStatement, ...]:
    """Return the sentences of a text that tell of locks, in order."""
    return tuple(_find_locks(text))


def _find_locks(text: str) -> Iterator[LockStatement]:
    if not _may_tell(text):
        return
    for start, end in sentences(text):
        # Lines may be broken anywhere in it.
        sentence = " ".join(text[start:end].split())
        if not _may_tell(sentence):
            continue
        removed = _REMOVED.search(sentence)
        if not (removed or _LOCK.search(sentence)):
            continue
        before = _wrapped_before(text, start)
        if _NO_ENERGY.search(before + sentence):
            continue
        numbers = frozenset(one[1].lower() for one in _NUMBER.finditer(sentence))
        is_sure = (
            removed is not None
            and not _NOT_YET.search(before + sentence[: removed.end()])
            and not _NOT_SURE.search(sentence)
        )
        if is_sure:
            is_all = _ALL.search(sentence) is not None
            yield LockStatement(start, end, "lock_removed", numbers, is_all=is_all)
        elif removed is not None or numbers or not _NO_LOCK.search(before + sentence):
            is_again = removed is not None or _AGAIN.search(sentence) is not None
            yield LockStatement(start, end, "lock_applied", numbers, is_again)


def _may_tell(text: str) -> bool:
    """Tell whether a text has a word of locks: to look is faster than any pattern."""
    lowered = text.lower()
    return any(word in lowered for word in _HINTS)


def _wrapped_before(text: str, start: int) -> str:
    """Return the end of the line before, where a line was broken within a sentence."""
    line = text[max(0, start - _WRAPPED_CHARS) : start].rstrip(" \t")
    if not line.endswith("\n"):
        return ""
    line = line[:-1].rstrip().rpartition("\n")[2]
    return f"{line} " if line and line[-1] not in ".:;!?" else ""
