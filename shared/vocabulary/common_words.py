"""Words that say nothing of what a text is about, by language, folded."""

import re
from collections import Counter
from collections.abc import Iterable

from shared.text.words import function_words, languages, question_words
from shared.text.words.folding import fold_surface

_WORDS = {
    "en": """
    about above after again all also and any are around because been before being
    below between both but can cannot could did does doing done down due during each
    few for from further get got had has have having her here him his how into its
    just less let like made make may might more most much must new nor not now off
    once only other our out over own per same she should since some still such than
    that the their them then there these they this those through too under until upon
    use used using very via was well were what when where which while who whom whose
    why will with within without would yet you your
    """,
    "de": """
    aber alle allem allen aller alles als also auch auf aus bei beim bis bitte damit
    dann das dass dem den denn der des deshalb die dies diese diesem diesen dieser
    dieses doch dort durch ein eine einem einen einer eines erst etwas für gegen gibt
    habe haben hat hatte heißt hier ich ihm ihn ihr ihre immer ist jede jedem jeden
    jeder jedes jetzt kann kein keine können man mehr mich mir mit muss nach nicht noch
    nun nur oder ohne schon sehr seit sich sie sind soll sowie über und uns unter viel
    vom von vor während war waren was weil wenn werden wie wieder wir wird wurde wurden
    zum zur zwischen
    """,
    "fr": """
    afin ainsi alors après aucun aussi autre aux avait avant avec avoir car ces cet
    cette ceux chaque comme dans depuis des deux dont durant elle elles en encore
    entre est eté être fait ils les leur leurs lors mais même moins nos notre nous
    par pas pendant peu peut plus pour puis que qui sans ses son sont sous sur tous
    tout toute très une vers vos votre vous
    """,
    "it": """
    alla alle allo anche che chi come con cui dal dalla dei del della delle dello
    dopo durante era essere gli hanno loro nel nella nelle non ogni per più poi
    cosa ha prima quale quando quella quello questa questo sono stata stato sua sul
    sulla suo tra tutti tutto una uno
    """,
    "es": """
    antes como con cual cuando del desde después donde dos durante ella ellos en entre
    era esta estaba este esto estuvo fue ha hace hacia han hasta hay hizo las los más
    muy nos otra otro para pero por porque que según ser sin sobre son su sus también
    tiene todo una uno
    """,
}
_COMMON = {
    language: frozenset(fold_surface(word, language) for word in words.split())
    for language, words in _WORDS.items()
}
_NONE: frozenset[str] = frozenset()
# A word of English is no sign of another language: `was`.
_ENGLISH = _COMMON["en"] | function_words.WORDS["en"]
# What asks tells the language of a question, and is in hardly any other text.
_TELLING = {"en": _ENGLISH} | {
    language: (common | function_words.WORDS[language] | question_words.WORDS[language])
    - _ENGLISH
    for language, common in _COMMON.items()
    if language != "en"
}
_ASKING = {
    one: telling & question_words.WORDS[one] for one, telling in _TELLING.items()
}
# A single letter is a name or a size in any language, but for one.
_WORD = re.compile(r"[^\W\d_]{2,}|\b\u00e8\b")
_LEAST_TELLING = 2


def is_common(word: str, language: str) -> bool:
    """Tell whether a word, as the analyser folds it, is of no weight."""
    return word in _COMMON.get(language, _NONE)


def find_languages(text: str) -> frozenset[str]:
    """Return the languages that a question may be in; none: too few words tell.

    Words in capitals are names.
    """
    words = [word for word in _WORD.findall(text) if not word.isupper()]
    # What begins a question tells as much as two other words.
    counts = Counter(
        language
        for language in _TELLING
        for word in {*words}
        if is_telling(word, (language,))
    ) + Counter(
        language
        for language, asking in _ASKING.items()
        for word in words[:1]
        if fold_surface(word, language) in asking
    )
    most = max(counts.values(), default=0)
    if most < _LEAST_TELLING:
        return _NONE
    return frozenset(language for language, n in counts.items() if n == most)


def detect_language(question: str, expected: str | None = None) -> str:
    """Return the language of a question: of words that tell it, or else as it reads."""
    told = find_languages(question)
    return min(told) if len(told) == 1 else languages.detect(question, expected)


def is_telling(word: str, languages: Iterable[str]) -> bool:
    """Tell whether a question in one of these languages may be known by a word."""
    return any(fold_surface(word, one) in _TELLING[one] for one in languages)
