"""What of a sentence contradicts its sources: the opposite of a word, a denial."""

import re
from collections.abc import Sequence
from functools import lru_cache

# The two sides of each, a line a language; a blank within one is a `_`. Where a word
# has another sense that is as common, what stands beside it tells.
_PAIRS = (
    (
        r"""
        (?:re)?open(?:ed|s|ing)?
        ge(?:ö|oe)ffnet\w* öffne\w+ offen(?:e[nrsm]?)?
        ouv(?:ert|rir|re)\w*
        apert[oaie] apr(?:e|ono|ire)
        abiert[oa]s? abr(?:e|ió|ir)
        """,
        r"""
        clos(?:ed?|es|ing)(?!_to) shut(?!_?-?down)
        geschlossen\w* schlie(?:ß|ss)\w+ schloss
        ferm(?:é\w*|er|eture\w*)
        chius\w+ chiud\w+
        cerr(?:ad[oa]s?|ó|ar) cierr[ae]
        """,
    ),
    (
        r"""
        (?:re)?start(?:ed|s|ing)? (?:switch|turn|power)\w*_(?:[\w-]+_){0,2}?on
        (?<!so_)(?<!later_)(?<!now_)(?<!went_)on(?=_again|_since|[.,;:!?)]|\Z)
        gestartet startet\w* angefahren angelaufen eingeschaltet einschalten
        démarr\w+ allum\w+ en_marche en_service
        avviat\w+ ripartit\w+ acces[oaie] accend\w+ in_funzione
        arranc\w+ encend(?:id[oa]s?|ió)
        """,
        r"""
        stop(?:ped|s|ping)? off shut_?-?down halt(?:ed|s)?
        gestoppt stoppte?n? angehalten abgestellt (?:aus|ab)(?:ge)?schalte[tn]
        arrêt\w+ étein\w+ hors_service
        ferm(?:at\w+|[oò]) spent[oaie] spegn\w+
        par(?:ó|ad[oa]s?) detuvo apag(?:ad[oa]s?|ó) fuera_de_servicio
        """,
    ),
    (
        r"""
        increas\w+ rais(?:ed?|es|ing) rose ris(?:en?|es|ing) climb\w* went_up
        gestiegen steig(?:t|en) stieg(?:en)? erhöh\w+ angehoben
        mont(?:e|ée?s?|ent|er) augment\w+
        sal(?:e|it[oaie]|ì) aument\w+
        sub(?:e|ió|id[oa]|ir)
        """,
        r"""
        decreas\w+ lower(?:ed|s|ing) lower(?=_(?:the|its?)\b) fell fall(?:en|ing)
        drop(?:s|p\w+)? s[au]nk sink\w* went_down
        gesunken gesenkt gefallen f(?:ällt|iel(?:en)?)(?![^.,;]*_aus\b)
        baiss\w+ chut\w+ diminu\w+
        sces[oaie] scend\w+ cal(?:a|at[oa]|ò) abbass\w+
        baj(?:a|ó|ad[oa]|ar) disminu\w+ cay(?:ó|eron)
        """,
    ),
    (
        r"""
        above over(?=_\d) exceed\w* (?:more|higher|greater|larger)_than
        über(?=_\d) oberhalb (?:mehr|höher|größer)_als überschr\w+
        au-dessus plus_de(?=_\d) supérieure?s? dépass\w+
        sopra oltre più_di(?=_\d) superior[ei] super(?:a|at[oa])
        por_encima más_de(?=_\d) superior
        """,
        r"""
        below under(?=_\d) (?:less|lower|fewer|smaller)_than
        unter(?=_\d) unterhalb (?:weniger|niedriger|kleiner)_als unterschr\w+
        au-dessous en_dessous moins_de(?=_\d) inférieure?s?
        sotto meno_di(?=_\d) inferior[ei]
        por_debajo menos_de(?=_\d) inferior
        """,
    ),
    (
        r"""
        enabl\w+
        aktiviert
        activ(?:é\w*|er)
        attivat\w+ abilitat\w+
        activ(?:ad[oa]s?|ó) habilitad\w+
        """,
        r"""
        disabl\w+
        deaktiviert
        désactiv\w+
        disattivat\w+ disabilitat\w+
        desactivad\w+ deshabilitad\w+
        """,
    ),
    (
        r"""
        insert\w+ install\w+
        eingefahren eingesetzt eingebaut
        insér\w+
        inserit\w+
        """,
        r"""
        retract\w+ remov\w+
        ausgefahren ausgebaut entfernt
        retir\w+ enlev\w+
        estratt\w+ rimoss\w+
        extraíd\w+ desmontad\w+
        """,
    ),
    (
        r"""
        connect(?:ed|s|ing)
        angeschlossen verbunden
        connecté\w* branché\w*
        colleg\w+ conness\w+
        conect\w+
        """,
        r"""
        disconnect\w*
        abgeklemmt getrennt
        déconnect\w+ débranch\w+
        scolleg\w+ sconness\w+
        desconect\w+
        """,
    ),
    (
        r"""
        lock(?:ed|s|ing)?
        verriegelt gesperrt
        verrouill\w+
        bloccat\w+
        bloquead\w+
        """,
        r"""
        unlock\w*
        entriegelt entsperrt freigegeben
        déverrouill\w+
        sbloccat\w+
        desbloquead\w+
        """,
    ),
    (
        r"""
        too_high
        zu_hoch
        trop_(?:haut|élev)\w*
        troppo_alt[oa]
        demasiado_alt[oa]
        """,
        r"""
        too_low
        zu_(?:niedrig|tief)
        trop_(?:bas|faible)\w*
        troppo_bass[oa]
        demasiado_baj[oa]
        """,
    ),
)
_SIDES = (
    f"({'|'.join(words.replace('_', ' ') for words in side.split())})"
    for pair in _PAIRS
    for side in pair
)
_WORDS = re.compile(rf"\b(?:{'|'.join(_SIDES)})(?!\w)")


def is_opposite(sentence: str, texts: Sequence[str]) -> bool:
    """Tell whether a sentence has the opposite of a word of texts, not that word."""
    said = _find_sides(sentence)
    told = frozenset[int]().union(*map(_find_sides, texts)) if said else said
    # The sides of a pair have an even number and the next one.
    return any(
        side ^ 1 in told and side ^ 1 not in said and side not in told for side in said
    )


@lru_cache(maxsize=512)
def _find_sides(text: str) -> frozenset[int]:
    """Return the numbers of the sides whose words a text has."""
    found = _WORDS.finditer(text.lower())
    return frozenset(one.lastindex - 1 for one in found if one.lastindex)


_FEW_WORDS = r"(?: [^\W\d_]+){1,3}?"
# What denies in two words counts once; `not only` denies nothing where more is told,
# and behind the `no` of a thing stands its number.
_DENIED = (
    r"neither\b[^.;]*?\bnor|weder\b[^.;]*?\bnoch"
    r"|(?P<more>(?:not|nicht|non|no|pas) (?:only|just|nur|seulement|solo|s\u00f3lo))\b"
    r"(?=.*\b(?:but|also|too|sondern|auch|mais|aussi|ma|anche|sino|tambi\u00e9n)\b)"
    rf"|no{_FEW_WORDS} (?:nunca|nadie|nada|ning\u00fan\w{{0,2}})"
    rf"|non{_FEW_WORDS} (?:mai|nessun\w?|niente|nulla|pi\u00f9)"
    rf"|(?:ne|n['\u2019][^\W\d_]+){_FEW_WORDS} (?:plus|personne)"
    r"|no(?!\.? ?\d)|not|never|none|nobody|nothing|nor|without|cannot|unable|impossible"
    r"|failed to|kein\w{0,2}|nichts?|nie|niemals|niemand|ohne|unm\u00f6glich"
    r"|(?-i:[Pp]as)|jamais|aucune?|rien|sans|non(?!-)|nessun\w?|niente|nulla|senza"
    r"|nunca|jam\u00e1s|ning\u00fan|ninguna|nada|nadie|(?-i:[Ss]in)(?! ?\(| embargo\b)"
)
_NOT = r"|\w+n['\u2019]t"
_IN_ANY = re.compile(rf"\b(?:{_DENIED}{_NOT})\b", re.IGNORECASE)
# Elsewhere it is a month.
_IN_ITALIAN = re.compile(rf"\b(?:{_DENIED}|mai{_NOT})\b", re.IGNORECASE)


@lru_cache(maxsize=512)
def count_denials(text: str, language: str) -> int:
    """Return how often a text denies something; `language`: that of its source."""
    denied = _IN_ITALIAN if language == "it" else _IN_ANY
    return sum(found["more"] is None for found in denied.finditer(text))
