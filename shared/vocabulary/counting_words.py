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
    abb able about abs absatz absent across action add added adds aged agreed almost
    alone along amid among annee annex anno ansi any anyone anz apart append appx area
    areas around arrive aside ask asked asme astm avoid away back base based began
    begin behind below beside best better beyond big bild black blatt blue both bottom
    bring broke brown bst by call called calls came cannot cas case cases casi caso
    caused cdt cest cet cfr chap check circa clase class classe clause close closed
    code coded codes come comes cost count cover cst cut daily dark dated datei deep
    dia did doc dopo dose draft drop due each early earned easily ebene edt either
    else encl enough equal est etapa etape etwa even event events ever every exact
    exceed except extra face fail failed fails fall falls fase feel fell few fewer
    fiche fig figs figura fila file fill final find first fit five flat foglio follow
    force form found four free fresh from fsar full gave gdc gegen get gets give given
    gives gmt goal good got grade grades great green grew grey group groupe groups
    grupo gruppe gruppo had half has hasta heft held help here high higher hit hoja
    hold home hora hour hours idle ieee inch inches index inside into issue issued
    issues item items its jahr job jobs jour just kap keep kept kind klasse known
    large last late later latest leads least leave led left length ler less lesson
    lets letter level levels ligne like limit list lista liste little live livell
    local log long longer lose lost low lower lowest made main major make makes mal
    many mark match may mdt mean means meet meets menos mes mese met might minor miss
    missed mode model modell models modes modo modus moins more most move moved mst
    much must near neared nearly needed needs never new nfpa night nine niveau nivel
    no nor nota note noted notes notice nrc nro num number numero nummer nur nureg ofr
    only onto open opened option ora orange order orders ordner ore osha other others
    our ours out outage owed own owned page pages pagina para part parte partie parts
    paso passo past pdt peak people period permit pg phase phases place plan plans
    plus point points post posten power prior priori prog pst punkt punto put quasi
    quite raise raised ran range ranged rank rare rate ratio reach read reads real
    reason recent red reg region regs remain report req rev riga rise rising risk room
    rooms rose row rows rule rules run rund runs sample satz save saw say says scheda
    score sealed sect seem seen sees seit seite seized sent serial serie series set
    sets seven shall share sheet short should show shown shows side sign simple since
    single site sites six size sizes slow small so some soon sort sotto sous sped
    spent srp staff start starts state states stato status stay stayed stelle step
    steps still stood stop stops study stufe such suite sum sure system tabell tabla
    tag take taken takes task team tech teil tell tema term test tests than that their
    them then there these they thing think this those though three thru thus ticket
    time timed times tipo title titre today tome took top total toward track true try
    turn turned turno twice two typ type types uhr unas under unless unos unter update
    upon us usage usc used user users uses using usual utc value values vary vers very
    via view voce vol volume wait want warm was week weeks well went were what when
    where which while white whole whose why wide will with within woche worse worst
    worth would write wrote year yellow yet your zeile zero zip zone zones
"""
_NONE = frozenset(_WORDS.split()) | CALENDAR_WORDS | SECONDS_OF.keys()
_LANGUAGES = ("en", "de", "fr", "it", "es")
# `KCK 03`: the word, and what a blank parts it from.
_SPACED = re.compile(r"(?P<head>[A-Z]{2,6}) \d")
# No name of a device ends as verbs do: `TESTED 5`.
_VERB = re.compile(r"[A-Z]{2,}(?:ED|ING|LY)\Z")


def is_counted(written: str) -> bool:
    """Tell whether a word and a number are no name, but so many or the so-manieth."""
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
