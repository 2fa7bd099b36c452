"""Whether a sentence only plans what a question takes for done, in five languages.

What is still to be done was done by nobody, and at no time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.text.words.folding import fold

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
_WORD = re.compile(r"\w+")
_SAME_LETTERS = 4


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
        _is_asked(verb, asked)
        for form in {_PLANNED, _PLANNED_BEHIND, own}
        for found in form.finditer(sentence)
        for said in found.groups()
        for verb in _WORD.findall(said or "")
    )


def _is_asked(verb: str, asked: Sequence[str]) -> bool:
    begins = fold(verb)[:_SAME_LETTERS]
    return bool(begins) and any(word.startswith(begins) for word in asked)
