"""Which kinds of answer a sentence tells: a cause, a moment, a size, a place, a person.

In the five languages of the words; one line a language where they differ.
"""

import re
from collections.abc import Sequence

from shared.answers.question import deeds, plain_numbers
from shared.answers.question.answer_kinds import AnswerKind
from shared.answers.question.counts import NUMERALS
from shared.answers.question.empty_words import is_empty
from shared.answers.question.numbered_things import tells_value
from shared.text.reading.quantities import find_quantities
from shared.text.words.folding import fold, fold_surface
from shared.times.calendar_names import (
    DAYS_LATER,
    MONTH_OF,
    SECONDS_OF,
    SHORT_MONTH_OF,
    WEEKDAY_OF,
)

_NUMBER_WORDS = (
    rf"(?:\d[\d.,]*|{NUMERALS}|sei|half an?|an?|ein(?:e|en|er)?|une?|una?"
    r"|a couple of|ein paar)"
)
_DURATION = re.compile(
    rf"\b{_NUMBER_WORDS}(?:\s*(?:to|bis|-|\u2013)\s*{_NUMBER_WORDS})?"
    rf"[\s-]*(?:ms|s|secs?|mins?|h|hrs?|shifts?|an|{'|'.join(SECONDS_OF)})\b"
    r"|\b\d{1,2}\s?h\s?[0-5]\d\b"
    r"|\b(?:overnight|(?:all|the (?:whole|entire)) (?:night|day|week|weekend|shift"
    r"|morning|afternoon|evening)|ganze[nrs]? (?:nacht|tag|woche|wochenende|schicht"
    r"|vormittag|nachmittag|morgen|abend)|toute la (?:nuit|journ\u00e9e|matin\u00e9e"
    r"|semaine)"
    r"|tutt[ao] (?:la notte|il giorno|la settimana|la mattina)"
    r"|tod[ao] (?:la noche|el d\u00eda|la semana|la ma\u00f1ana|la tarde))\b",
    re.IGNORECASE,
)
# `At 1330 hours`, `0230 to 0250 hours`: a time of day, however it is counted. Without
# its unit it is one where it begins a sentence, or a day or zone is behind it.
_CLOCK = re.compile(
    r"\b(?:(?:at|by|until|since|from|between)(?: (?:about|around|approximately))?"
    r"\s+(?:[01]\d|2[0-3])|0\d)[0-5]\d(?:\s*(?:-|to|and)\s*\d{4})?\s*h(?:(?:ou)?rs?)?\b"
    r"|(?-i:\bAt)\s+(?:[01]\d|2[0-3])[0-5]\d,(?!\s*\d)"
    r"|\bat\s+(?:[01]\d|2[0-3])[0-5]\d\s+[\[(]?(?:on|[ECMP][SD]?T|UTC|GMT|CES?T)\b"
    # `\u00c0 10h`, `a las 10 h`
    r"|\b(?:\u00e0|vers|d\u00e8s|las|at|um|gegen|alle|ore) \d{1,2} ?h(?: ?[0-5]\d)?\b",
    re.IGNORECASE,
)
# What calls something a cause in so many words.
_CAUSES = (
    r"because|due to|caus(?:e|ed|es|ing)|reason|culprit|turned out|owing to|thanks to"
    r"|blam\w+|weil|wegen|ursach\w+|grund|verursach\w+|ausgel\u00f6st|aufgrund"
    r"|lag (?:an|am)|caus\u00e9\w*|causat\w+|causad\w+|dovut\w+"
)
_CAUSE = re.compile(rf"\b(?:{_CAUSES}|reasons|traced (?:to|back))\b", re.IGNORECASE)
_CAUSE_FIRST = re.compile(
    r"\W*(?:(?:the|root|probable|likely|die|der|la|le|il|el) ){0,3}"
    r"(?:cause|reason|culprit|ursache|grund|causa|raison)\b",
    re.IGNORECASE,
)
# It is known by nobody yet.
_UNKNOWN = re.compile(
    r"\bunknown\b|\bnot (?:yet )?(?:known|determined|understood|clear)\b|\binvestigat"
    r"|\bto be determined\b|\bunbekannt|\bunklar\b|\buntersuch|\binconnue?s?\b"
    r"|\bsconosciut|\bignot|\bdesconocid|\ben cours d|\bnon (?:ancora )?not[oa]\b",
    re.IGNORECASE,
)
# So people write of a cause that they are not sure of.
_SUPPOSED = (
    r"(?:i|we) (?:think|believe|suspect|guess|assume)|suspect(?:ed)?|suspicion|probably"
    r"|presumably|apparently|must have|vermut\w+|wahrscheinlich|offenbar|verdacht"
    r"|sans doute|probablement|apparemment|probabilmente|forse|probablemente"
)
# What says why, in no logbook's own words.
_REASON = re.compile(
    rf"\b(?:{_CAUSES}|{_SUPPOSED}|since|result(?:ed|ing)? (?:of|from|in)|as a result"
    r"|root|trac(?:ed|k)|found|owing|led to|explain\w*"
    r"|so that|after (?:a|the|it|he|she|they|we)|triggered"
    r"|from (?:a|the)|da\u00df|durch|deshalb"
    r"|daher|gefunden|nachdem|parce|perch\u00e9"
    r"|causa|porque|debido)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\W*(?:the|an?|our|de[rmn]|die|das|ein|eine|l[ae]s?|une?|il|lo|i|gli|el|los) \w",
    re.IGNORECASE,
)
_REFERS = re.compile(
    r"(?:\A\W*|[.!?;]\s+)(?:it|they|sie|er|es|ils?|elles?|ella|ess[oa])\b",
    re.IGNORECASE,
)
# A plant that was on or off once is perhaps no longer.
_WAS = re.compile(
    r"\b(?:was|were|had|war(?:en)?|\u00e9tai(?:t|ent)|era(?:no)?|estaba[n]?)\b",
    re.IGNORECASE,
)
_MONTH = rf"(?:{'|'.join(MONTH_OF | SHORT_MONTH_OF)})"
_WEEKDAY = rf"(?:{'|'.join(WEEKDAY_OF)})s?"
# A word that German has for another place.
_LATER = "|".join(sorted(DAYS_LATER.keys() - {"hier"}))
# `\u00c0 10 bar` and `um 5.25 mbar` are no times, nor are decimals by themselves.
_NO_UNIT = r"(?![.,]?\d|\s?(?:%|\u00b0|[mkunp\u00b5]?(?:bar|[avwtkg]|hz|ev|pa|m)\b))"
_MOMENT = re.compile(
    r"\b\d{1,2}:\d{2}\b|\b\d{1,2}\.\d{2} ?uhr\b|\b\d{4}-\d{2}-\d{2}\b"
    rf"|\b(?:um|gegen|ab|bis|seit|ore|alle) \d{{1,2}}\.\d{{2}}\b{_NO_UNIT}"
    r"|\b\d{1,2}(?P<mark>[./])(?:0?[1-9]|1[0-2])(?P=mark)\d{0,4}"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|er|\.)? (?:(?:of|de|di) )?{_MONTH}\b"
    rf"|\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?(?=[,.;)]|\s+(?:at|and|by)\b|\s*\Z)"
    rf"|\b{_MONTH}\.? (?:del? )?(?:19|20)\d\d\b"
    rf"|\b(?:in|im|since|seit|until|by|end of|ende|anfang|en|nel|a) {_MONTH}\b"
    r"|\b\d{1,2} ?(?:[ap]\.?m\b|uhr\b|o'clock)|\b(?:[01]?\d|2[0-3]) ?h ?[0-5]\d\b"
    rf"|\b(?:\u00e0|vers|alle ore|a las) \d{{1,2}}\b{_NO_UNIT}|\bo['\u2019]clock\b"
    r"|\b(?:last|previous|this|next|letzten?|vorigen?|diese[nr]?) (?:week|month|year"
    r"|weekend|night|morning|afternoon|evening|shift|woche|monat|jahr|nacht|schicht)\b"
    r"|\b\w+ (?:minutes|hours|days|weeks|months|years) (?:ago|later|before|after)\b"
    r"|\bvor \w+ (?:minuten|stunden|tagen|wochen|monaten|jahren)\b|\bovernight\b"
    r"|\b(?:in|during) the (?:morning|afternoon|evening|night)\b"
    r"|\b(?:in|during) the (?:\w+ ){1,2}shift\b"
    r"|\b(?:fr(?:\u00fc|ue)h|sp(?:\u00e4|ae)t|nacht|tag)schicht\b"
    rf"|\b(?:um|gegen|seit|bis) (?:kurz (?:vor|nach) |halb |viertel (?:vor|nach) )"
    rf"(?:\d|{NUMERALS})|\b(?:{NUMERALS}) uhr\b"
    rf"|\b(?:today|tonight|noon|midnight|heute|mittag|mitternacht|{_WEEKDAY}|{_LATER}"
    r"|aujourd['\u2019]hui|ce matin|ce soir|cette nuit|midi|minuit"
    r"|(?:dans|pendant) la (?:nuit|matin\u00e9e|soir\u00e9e)"
    r"|(?:semaine|nuit|ann\u00e9e) (?:derni\u00e8re|prochaine)|mois (?:dernier"
    r"|prochain)"
    r"|oggi|stamattina|stasera|stanotte|mezzogiorno|mezzanotte|scors[oa]|prossim[oa]"
    r"|(?:nella|durante la|di) notte|(?:nel|di) pomeriggio"
    r"|hoy|anoche|mediod[i\u00ed]a|medianoche|(?:semana|noche|mes|a\u00f1o) pasad[oa]"
    r"|(?:semana|mes|a\u00f1o) (?:que viene|pr\u00f3xim[oa])"
    r"|pr\u00f3xim[oa] (?:semana|mes|a\u00f1o)|por la (?:noche|tarde|ma\u00f1ana)"
    r"|de madrugada)\b",
    re.IGNORECASE,
)
_CLOCKED = (
    r"(?:\d{1,2} ?[:h] ?[0-5]\d|\d{1,2}(?:\.[0-5]\d)? ?(?:h|uhr|[ap]\.?m)|noon|midnight"
    r"|mittag|mitternacht|midi|minuit|mezzogiorno|mezzanotte|mediod\u00eda|medianoche)"
)
_UNTIL = r"(?:to|until|till|through|bis|\u00e0|au|jusqu'\u00e0|al?|hasta|-|\u2013)"
_AND = r"(?:and|und|et|e|y)"
# From one time of day, or day, to another: how long it took can be reckoned.
_SPAN = re.compile(
    rf"\b(?:{_CLOCKED}|\d{{1,2}}) ?{_UNTIL} ?(?:las )?{_CLOCKED}\b"
    rf"|\b(?:between|zwischen|entre|tra|fra) (?:l[ae]s )?(?:{_CLOCKED}|\d{{1,2}})"
    rf" {_AND} (?:l[ae]s )?{_CLOCKED}\b"
    r"|\bdalle(?: ore)? \d{1,2}\S* (?:alle|fino alle)(?: ore)? \d{1,2}\b"
    r"|\b(?:de|desde) las \d{1,2}\S* (?:a|hasta) las \d{1,2}\b"
    rf"|\b{_WEEKDAY} ?{_UNTIL} (?:the )?{_WEEKDAY}\b"
    rf"|\b\d{{1,2}}\.? ?{_UNTIL} ?(?:the |zum )?\d{{1,2}}\.? (?:de |di )?{_MONTH}\b",
    re.IGNORECASE,
)
# These say it in one language alone: `hier` and `alle` are German as well.
_MOMENT_IN = {
    "fr": re.compile(r"\bhier\b", re.IGNORECASE),
    "it": re.compile(r"\b(?:alle|dalle) \d{1,2}\b", re.IGNORECASE),
}
_PERSON = re.compile(
    r"\b(?:(?:operator|crew|shift leader|electrician|technician|physicist|engineer"
    r"|worker|employee)s?|group|staff"
    r"|personnel(?! (?:safety|protection|access|dose|monitor|air|hatch|door|lock))"
    r"|\w*team|department|brigade|police|feuerwehr|polizei|pompiers|vigili|bomberos"
    r"|company|firm|vendor|supplier|manufacturer|GmbH|Inc|Ltd|contractor"
    r"|\w*(?:firma|gruppe|elektriker|techniker)|lieferant|hersteller|schichtleiter"
    r"|rufbereitschaft|kolleg(?:en?|in)"
    r"|op\u00e9rateur|\u00e9quipe|groupe|soci\u00e9t\u00e9|entreprise|technicien"
    r"|\u00e9lectricien|fournisseur|operatore|squadra|gruppo|ditta|tecnico|elettricista"
    r"|fornitore|operador|equipo|grupo|empresa|t\u00e9cnico|electricista|proveedor)\b",
    re.IGNORECASE,
)
# Who is named as whoever did it: `Peter Novak repaired the chiller`, `by Novak`.
_DOER = re.compile(
    r"\A(?!(?:We|They|He|She|It|This|That|Which|Who|You|Someone|Somebody|Nobody) )"
    r"[A-Z][a-z\u00df-\u00ff]+(?: [A-Z][a-z\u00df-\u00ff]+)? (?:has |had )?"
    r"[a-z]{2,}ed (?:the|an?|all|both|it)\b"
    rf"|\b(?:by|par|por|da) (?!(?i:{_WEEKDAY}|{_MONTH})\b)[A-Z][a-z\u00df-\u00ff]+"
    # Each noun is written so in German.
    r"|\b(?:von|durch) [A-Z][a-z\u00df-\u00ff]+ [A-Z][a-z\u00df-\u00ff]+"
)
# What stands behind a preposition, but in `at once`, `at last`.
_PLACE = re.compile(
    r"\b(?:in|at|on|behind|under|above|below|beside|between|near|next to|into|onto|from"
    r"|through|inside|outside|im|am|an|auf|hinter|unter|\u00fcber|neben|zwischen|bei|aus"
    r"|durch|dans|sur|sous|derri\u00e8re|devant|entre|chez|aux?|\u00e0|nel(?:l[aoe])?|nei"
    r"|negli|sul(?:l[aoe])?|sotto|dietro|tra|fra|presso|alla?|en|sobre|bajo|junto a"
    r"|cerca de) (?:the |a |an |der |die |das |dem |den |l[ae]s? |el |los )?"
    r"(?!(?:all|any case|first|last|least|most|once|order|time|vain|now|hold|addition"
    r"|general|fact|ende|moment|anfang|fin|fait|breve)\b)\w+",
    re.IGNORECASE,
)


# What is to be done, or was: `press reset`, `by cycling it`, `lowered the gain`.
_HOW = re.compile(
    r"(?:\A|[.;:,]|\b(?:then|first|please|and|or|not|always|never))\W*(?:\d{1,2}[.)]\s*)?"
    r"(?-i:[A-Z]?)(?:acknowledge|add|adjust|allow|apply|ask|bleed|call|change|check|clean"
    r"|clear|close|confirm|connect|cool|cycle|disable|disconnect|drain|drive|enable"
    r"|ensure|enter|exchange|fill|flush|hold|increase|insert|inform|isolate|keep|leave"
    r"|load|lock|log|lower|make sure|measure|move|open|press|pull|pump|purge|push|put"
    r"|raise|ramp|read|reboot|reduce|release|remove|repeat|replace|reset|restart|restore"
    r"|run|select|set|shut|start|stop|switch|take|tighten|turn|type|unlock|unplug|use"
    r"|verify|wait|walk|warm)\b"
    r"|\A\W*(?:\w{3,}ed|put|set|reset|shut) (?:the|it|its|an?|all|both|by|from|to)\b"
    r"|\b(?:by \w+ing|must|should|ha(?:s|ve) to|needs? to|procedure|steps?|bitte|man"
    r"|muss|m\u00fcssen|sollte\w*|durch \w+en|indem|zuerst|danach|anschlie\u00dfend)\b"
    r"|\b(?:dr\u00fccken|schlie\u00dfen|\u00f6ffnen|setzen|\w*schalten|ziehen"
    r"|pr\u00fcfen|warten|\w*stellen|drehen|starten|l\u00f6sen|fahren|rufen)"
    r"(?=\W*\Z|[.,;]| und\b)",
    re.IGNORECASE,
)
_HOW_IN = {
    "fr": re.compile(
        r"\A\W*\w{3,}(?:er|ez|ir)\b|\b(?:il faut|doi(?:t|vent)|veuillez|d'abord"
        r"|ensuite|puis|en \w{3,}ant)\b",
        re.IGNORECASE,
    ),
    "it": re.compile(
        r"\A\W*\w{3,}(?:are|ere|ire)\b|\b(?:bisogna|occorre|dev(?:e|ono)|prima|poi"
        r"|\w{3,}[ae]ndo)\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\A\W*\w{3,}[aei]r\b|\b(?:hay que|deben?|primero|luego|despu\u00e9s"
        r"|\w{3,}(?:ando|iendo))\b",
        re.IGNORECASE,
    ),
}


def tells_how(sentence: str, language: str) -> bool:
    """Tell whether a sentence says what is to be done, or what was done."""
    return bool(_HOW_IN.get(language, _HOW).search(sentence))


def tells_past(sentence: str) -> bool:
    """Tell whether a sentence tells how something was."""
    return bool(_WAS.search(sentence))


def names_subject(sentence: str) -> bool:
    """Tell whether a sentence begins with the thing that it tells of: `The switch`."""
    return bool(_SUBJECT.match(sentence))


def refers_back(sentence: str, language: str) -> bool:
    """Tell whether a sentence calls by a word what was named before: `It runs`."""
    # In Italian that is an article.
    return bool(_REFERS.search(sentence)) and not (
        language == "it" and _SUBJECT.match(sentence)
    )


def names_cause(sentence: str) -> bool:
    """Tell whether a sentence calls something a cause."""
    return bool(_CAUSE.search(sentence)) and not _UNKNOWN.search(sentence)


def begins_with_cause(sentence: str) -> bool:
    """Tell whether a sentence is there to tell the cause: `Cause: a cracked O ring`."""
    return bool(_CAUSE_FIRST.match(sentence)) and not _UNKNOWN.search(sentence)


def is_of_kind(
    kind: AnswerKind,
    counted: str,
    sentence: str,
    language: str,
    people: frozenset[str],
) -> bool:
    """Tell whether a sentence can be such an answer; `people` are folded names.

    `counted` is the pattern of what is counted, where that is asked for.
    """
    match kind:
        case "why":
            return bool(_REASON.search(sentence))
        case "how_long":
            # `How long is the cable` asks for metres.
            told = _DURATION.search(_CLOCK.sub("", sentence)) or _SPAN.search(sentence)
            return bool(told) or any(
                one.dimension == "length" for one in find_quantities(sentence, language)
            )
        case "how_many":
            plain = plain_numbers.write_plainly(sentence, language)
            return any(
                re.search(counted, text, re.IGNORECASE) for text in (sentence, plain)
            )
        case "how_much":
            return tells_value(sentence, language)
        case "when":
            return _tells_moment(sentence, language)
        case "who":
            words = {word.strip(".,;:!?()'\"") for word in sentence.split()}
            # A name that is a common word is one where it is written as a name: `Will`.
            named = {
                word.casefold()
                for word in words
                if word[:1].isupper() or not is_empty(fold_surface(word, "en"))
            }
            who = _PERSON.search(sentence) or _DOER.search(sentence)
            return bool(named & people) or who is not None
        case "where":
            return _tells_place(sentence, language)
        case "which" | "what":
            return True


def _tells_place(sentence: str, language: str) -> bool:
    """Tell whether a sentence says where: behind no preposition of a time or size."""
    sizes = [(one.start, one.end) for one in find_quantities(sentence, language)]
    for start, end in reversed(sizes):
        sentence = f"{sentence[:start]};{sentence[end:]}"
    own = _MOMENT_IN.get(language, _MOMENT)
    for form in (_SPAN, _CLOCK, own, _MOMENT, _DURATION):
        sentence = form.sub(";", sentence)
    return bool(_PLACE.search(sentence))


def _tells_moment(sentence: str, language: str) -> bool:
    """Tell whether a sentence says when."""
    own = _MOMENT_IN.get(language, _MOMENT)
    return any(form.search(sentence) for form in (_MOMENT, _CLOCK, own))


# Where the verb stands that is planned: behind what plans it, in German at the end of
# its clause, or before what says that it is planned. Done `as planned` is done.
_PLANNED = re.compile(
    r"\b(?:will|must|should|shall|(?:need|plan|hope|want|intend)s? to|ha(?:s|ve) to"
    r"|(?:is|are|going|planned|scheduled|due) to)(?: (?:soon|then|now|also|\w+ly))?"
    r"(?: be)? (?P<do>\w+)"
    r"|\b(?:muss|m\u00fcssen|soll(?:en|te)?|wird|werden)\b[^.;,]{0,120}?"
    r"\b(?P<tun>\w+)(?: werden)?\s{0,3}(?:[.;,!]|\Z)",
    re.IGNORECASE,
)
_PLANNED_BEHIND = re.compile(
    r"(?:\A|[.;,])(?P<before>[^.;,]{0,120})\b(?:(?:is|are|was|were)"
    r" (?:planned|scheduled)"
    r"|(?:ist|sind|war|waren) [^.;,]{0,60}(?<!wie )(?:geplant|vorgesehen|angesetzt)"
    r"|(?:est|sont) pr\u00e9vue?s?|\u00e8 (?:previst|pianificat)[oa]"
    r"|est\u00e1 (?:previst|planead|programad)[oa])\b",
    re.IGNORECASE,
)
_IN_LANGUAGE = {
    "fr": re.compile(
        r"\b(?:ser(?:a|ont)|v(?:a|ont)(?: \u00eatre)?|doi(?:t|vent)(?: \u00eatre)?"
        r"|devr(?:a|ont) \u00eatre|faut)(?: \w+ment)? (?P<faire>\w+)"
        r"|\b(?P<fera>\w{3,}[ei]r(?:a|ont))\b",
        re.IGNORECASE,
    ),
    "it": re.compile(
        r"\b(?:verr(?:\u00e0|anno)|sar(?:\u00e0|anno)|va|vanno|dev(?:e|ono)"
        r"(?: (?:essere|venire))?|dovr(?:\u00e0|anno)(?: essere)?)(?: \w+mente)?"
        r" (?P<fare>\w+)|\bda (?P<fatto>\w+[aei]re)\b"
        r"|\b(?P<fara>\w{3,}[ei]r(?:\u00e0|anno))\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\b(?:ser\u00e1n?|debe(?:n|r\u00e1n?)?(?: ser)?|va(?:n|mos)? a(?: ser)?"
        r"|hay que|tienen? que)(?: \w+mente)? (?P<hacer>\w+)"
        r"|\b(?P<hara>\w{3,}[aei]r(?:\u00e1n?|emos))\b",
        re.IGNORECASE,
    ),
}
# A question that asks for a plan.
_PLANS = re.compile(
    r"\b(?:will|must|should|shall|next|planned|scheduled|going to|wird|werden|muss"
    r"|m\u00fcssen|soll\w*|geplant|n\u00e4chste[nrs]?|sera|seront|doit|doivent|va|vont"
    r"|\w+r(?:a|ont)-t?-?(?:il|elle|on)s?|pr\u00e9vue?s?|prochaine?s?"
    r"|verr(?:\u00e0|anno)|sar(?:\u00e0|anno)|deve|devono|previst[oaie]|prossim[oaie]"
    r"|\w{3,}r(?:\u00e0|\u00e1|anno|\u00e1n)|debe|deben|van|previstos|pr\u00f3xim[oa]s?)\b",
    re.IGNORECASE,
)
# When something happened is asked, not when it happens.
_PAST = re.compile(
    r"\b(?:was|were|did|has|have|had|wurden?|war(?:en)?|hat(?:te)?|haben|ont|hanno|ha"
    r"|a-t-(?:il|elle|on)|fu(?:rono)?|fue(?:ron)?|\w+(?:\u00f3|aron|ieron))\b"
    r"|\b(?:ist|sind)\b.*\b(?:worden|ge\w{2,}(?:t|en))\b"
    r"|\b(?:a|est|sont|\u00e8|sono)\b.*\w(?:\u00e9e?s?|at[oaie]|ut[oaie]|it[oaie])\b",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"\bwhen (?:do|does|is|are|can|to)\b", re.IGNORECASE)
# How a verb ends that tells what was done.
_DONE = re.compile(
    r"\b\w{2,}(?:ed|te?|en|\u00e9e?s?|[aiu]t[oaie]|[ai]d[oa]s?|\u00f3)\b", re.IGNORECASE
)
_APPLIED = re.compile(
    r"\b\w{2,}(?:ed|\u00e9e?s?|at[oaie]|[ai]d[oa]s?)\b|\b(?:an|auf)?ge\w+t\b|\bput\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def tells_verb(sentence: str, words: Sequence[str]) -> bool:
    """Tell whether a sentence has a form of one of these words for what was done."""
    asked = [fold(word) for word in words]
    return any(deeds.is_form_of(one[0], asked) for one in _DONE.finditer(sentence))


def tells_done(sentence: str, words: Sequence[str]) -> bool:
    """Tell whether a sentence tells of one of these words as of something done.

    `LOTO applied`: the verb may be another one.
    """
    return tells_verb(sentence, words) or (
        _APPLIED.search(sentence) is not None
        and _PLANNED.search(sentence) is None
        and not {*words}.isdisjoint(_WORD.findall(sentence.lower()))
    )


def asks_past(question: str) -> bool:
    """Tell whether a question takes what it is about for done."""
    return (
        _PAST.search(question) is not None
        and _PRESENT.search(question) is None
        and _PLANS.search(question) is None
    )


def is_planned(
    sentence: str, language: str, question: str, words: Sequence[str]
) -> bool:
    """Tell whether a sentence only plans what a question takes for done.

    `words` are those of the question: `must be repaired`, asked who repaired it.
    """
    if _PLANS.search(question):
        return False
    asked = [fold(word) for word in words]
    own = _IN_LANGUAGE.get(language, _PLANNED)
    return any(
        deeds.is_form_of(verb, asked)
        for form in {_PLANNED, _PLANNED_BEHIND, own}
        for found in form.finditer(sentence)
        for said in found.groups()
        for verb in _WORD.findall(said or "")
    )
