"""Words that stand before a number and make no name with it: `WITHIN 30`, `PART 21`.

Where all is written in capitals they look as devices do, `KCK 03`. What is numbered
itself is left: units, buses, loops, pumps.
"""

import re

from shared.text.words import function_words
from shared.text.words.folding import fold_surface
from shared.times.calendar_names import CALENDAR_WORDS, SECONDS_OF
from shared.vocabulary import common_words

# Parts of documents, kinds and grades, rules, zones of the clock, and what is said
# before a number of things, in five languages; of at most six letters, as such a name.
_WORDS = """
    abb able abs absatz absent across action add adds almost alone along amid among
    annex ansi anyone anz apart append appx area areas arrive aside ask asme astm
    avoid away back base began begin behind beside best better beyond big bild black
    blatt blue bottom broke brown bst call calls came cas case cases casi caso cdt
    cest cfr chap check circa clase class classe clause close code codes comes cost
    count cover cst cut dark datei deep doc dose draft drop ebene edt either else encl
    enough equal etapa etape etwa even event events ever every exact except extra face
    fail fails fall falls fase feel fell fewer fiche fig figs figura fila file fill
    final find first fit five flat foglio follow force form found four free fresh fsar
    full gave gdc gets give given gives gmt goal good grade grades great green grew
    grey group groupe groups grupo gruppe gruppo half heft held help high higher hit
    hoja hold home idle ieee inch inches index inside issue issues item items job jobs
    kap keep kept kind klasse known large late later leads least leave led left length
    ler lesson lets letter level levels ligne limit list lista liste little live
    livell local log long longer lose lost low lower lowest main major makes mal many
    mark match mdt mean means meet meets menos met minor miss mode model modell models
    modes modo modus move mst near needs never nfpa night nine niveau nivel no nota
    note notes notice nrc nro num number numero nummer nureg ofr onto open option
    orange order orders ordner osha others ours outage page pages pagina part parte
    partie parts paso passo past pdt peak people period permit pg phase phases place
    plan plans point points post posten power prior priori prog pst punkt punto put
    quasi quite raise ran range rank rare rate ratio reach read reads real reason
    recent red reg region regs remain report req rev riga rise risk room rooms rose
    row rows rule rules run rund runs sample satz save saw say says scheda score sect
    seem seen sees seite sent serial serie series set sets seven shall share sheet
    short show shown shows side sign simple single site sites six size sizes slow
    small so soon sort sotto spent srp staff start starts state states status stay
    stelle step steps stood stop stops study stufe suite sum sure system tabell tabla
    tag take taken takes task team tech teil tell tema term test tests think though
    three thru thus ticket time times tipo title titre today tome took top total
    toward track true try turn turno twice two typ type types uhr unas unless unos
    update us usage usc user users uses usual utc value values vary view voce vol
    volume wait want warm went white whole wide worse worst worth write wrote yellow
    zeile zero zip zone zones
"""
_NONE = frozenset(_WORDS.split()) | CALENDAR_WORDS | SECONDS_OF.keys()
_LANGUAGES = ("en", "de", "fr", "it", "es")
# `KCK 03`: the word, and what a blank parts it from.
_SPACED = re.compile(r"(?P<head>[A-Z]{2,6}) \d")
# Standards and reports, whose numbers have three digits at least, and licences.
_STANDARD = re.compile(
    r"(?:ansi|asme|astm|din|iec|ieee|iso|nede|nfpa|nureg|vde|wcap)[ -]?\d{3}"
    r"|(?:dpr|npf|snm|sua)[ -]?\d",
    re.IGNORECASE,
)
# No name of a device ends as verbs do: `TESTED 5`.
_VERB = re.compile(r"[A-Z]{2,}(?:ED|ING|LY)\Z")


def is_counted(written: str) -> bool:
    """Tell whether a word and a number are no name, but so many or the so-manieth.

    Of rules and licences the number is their name, and none of a device.
    """
    if _STANDARD.match(written):
        return True
    spaced = _SPACED.match(written)
    if spaced is None:
        return False
    head = spaced["head"]
    folded = fold_surface(head, "en")
    return (
        folded in _NONE
        or _VERB.fullmatch(head) is not None
        or any(
            function_words.joins(folded, one) or common_words.is_common(folded, one)
            for one in _LANGUAGES
        )
    )
