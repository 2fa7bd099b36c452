"""Words that say nothing of what a text is about, by language, folded."""

from __future__ import annotations

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
    habe haben hat hatte hier ich ihm ihn ihr ihre immer ist jede jedem jeden jeder
    jedes jetzt kann kein keine können man mehr mit muss nach nicht noch nun nur oder
    ohne schon sehr seit sich sie sind soll sowie über und uns unter viel vom von vor
    war waren was weil wenn werden wie wieder wir wird wurde wurden zum zur zwischen
    """,
    "fr": """
    afin ainsi alors après aucun aussi autre aux avait avant avec avoir car ces cet
    cette ceux chaque comme dans depuis des deux dont elle elles encore entre est eté
    être fait ils les leur leurs lors mais même moins nos notre nous par pas peu peut
    plus pour puis que qui sans ses son sont sous sur tous tout toute très une vers
    vos votre vous
    """,
    "it": """
    alla alle allo anche che chi come con cui dal dalla dei del della delle dello dopo
    era essere gli hanno loro nel nella nelle non ogni per più poi prima quale quando
    quella quello questa questo sono sua sul sulla suo tra tutti una uno
    """,
    "es": """
    como con cual cuando del desde donde dos ella ellos entre era esta este esto fue
    hace hasta hay las los más muy nos otra otro para pero por porque que según ser
    sin sobre son sus también tiene todo una uno
    """,
}
_COMMON = {
    language: frozenset(fold_surface(word, language) for word in words.split())
    for language, words in _WORDS.items()
}
_NONE: frozenset[str] = frozenset()


def is_common(word: str, language: str) -> bool:
    """Tell whether a word, as the analyser folds it, is of no weight."""
    return word in _COMMON.get(language, _NONE)
