"""The sentences by which one shift asks the next to do something.

A list of what is left to do is read by those who have a minute: one that it misses is
better than one that asks for nothing.
"""

import re
from collections.abc import Iterator

from shared.text.reading.incidents import blank_quoted_lines, sentences

_VERBS = (
    r"(?:check|inspect|look|watch|monitor|observe|replace|repair|fix|call|contact|inform"
    r"|order|refill|reset|restart|test|measure|verify|investigate|clean|calibrate|align"
    r"|tighten|swap|exchange|return|restore|save|update|follow up|review|adjust|close"
    r"|open|remove|install|drain|grease|lubricate|finish|complete|continue|ask|confirm"
    r"|cross|keep|make sure|remind)"
)
_DONE = (
    r"(?:checked|inspected|looked at|watched|monitored|observed|replaced|repaired|fixed"
    r"|called|contacted|informed|ordered|refilled|filled|reset|restarted|tested|measured"
    r"|verified|investigated|cleaned|calibrated|aligned|tightened|swapped|exchanged"
    r"|returned|restored|saved|updated|followed up|reviewed|adjusted|closed|opened"
    r"|removed|installed|drained|greased|lubricated|finished|completed|done|confirmed)"
)
_VERBS_DE = (
    r"(?:(?:nach|über)?prüfen|kontrollieren|beobachten|überwachen|nachsehen"
    r"|nachschauen|anrufen|melden|(?:aus)?tauschen|ersetzen|reparieren|bestellen"
    r"|(?:nach|auf)füllen|testen|messen|reinigen|nachziehen|justieren|kalibrieren"
    r"|informieren|erledigen|schließen|öffnen|sichern|zurücksetzen|fortsetzen|klären)"
)
_DONE_DE = (
    r"(?:(?:nach|über)?(?:ge)?prüft|kontrolliert|beobachtet|überwacht|nachgesehen"
    r"|angerufen|gemeldet|(?:aus)?getauscht|ersetzt|repariert|bestellt"
    r"|(?:nach|auf)gefüllt|getestet|gemessen|gereinigt|nachgezogen|justiert|kalibriert"
    r"|informiert|erledigt|geschlossen|geöffnet|gesichert|zurückgesetzt|geklärt)"
)
_LABEL = (
    r"(?:to[ -]?do|pending|outstanding|open (?:items?|points?|issues?|actions?)"
    r"|actions?(?: items?)?|follow[ -]?ups?|(?:for )?(?:the )?(?:next|oncoming|coming)"
    r" (?:shift|crew)|offene? ?(?:punkte|aufgaben)?|zu erledigen"
    r"|(?:für die )?nächste schicht|(?:reste )?à faire|en attente|da fare|in sospeso"
    r"|por hacer|pendientes?)"
)
_HEAD = re.compile(rf"{_LABEL}(?: (?:for|für) [^.:]{{1,30}})? ?:?", re.IGNORECASE)
_ASKS = re.compile(
    rf"^{_LABEL}(?: (?:for|für) [^.:]{{1,30}})? ?:\s\S"
    rf"|\bplease (?:\S{{1,20}} )?{_VERBS}\b"
    rf"|\b(?:should|must|has to|have to|needs? to|is to|are to|remains? to|still to)"
    rf" (?:still )?be {_DONE}\b"
    rf"|\b(?:should|must|has to|have to|needs? to) (?:\S{{1,20}} )?{_VERBS}\b"
    r"|\bneeds? (?:\w{2,20}ing\b|(?:an? |some )?(?:\w{2,20} )?(?:check|repair|service"
    r"|replacement|inspection|attention|calibration|adjustment|cleaning"
    r"|follow[ -]?up)\b)"
    r"|(?:^|: )(?:please )?(?:watch|check|monitor|keep an eye on|make sure"
    r"|remember to|look (?:at|after|into)|follow up|do not forget|don't forget|verify"
    r"|inspect|investigate|replace|repair|refill)"
    r"\b(?! (?:of|from|by|valves?|is|are|list|started|finished|done)\b)"
    r"(?![^,;]{0,60} (?:was|were|has|have|had)\b)"
    rf"|\bnext shift (?:should|must|please|to|needs? to|has to) {_VERBS}\b"
    rf"|\bbitte (?:\S{{1,30}} ){{0,8}}{_VERBS_DE}\b"
    rf"|\b(?:muss|müssen|soll(?:te)?n?) (?:\S{{1,30}} ){{0,8}}"
    rf"(?:{_DONE_DE} werden|{_VERBS_DE})\b"
    rf"|\b(?:noch|ist|sind|bleibt) (?:\S{{1,30}} ){{0,4}}zu {_VERBS_DE}\b"
    r"|\b(?:merci de|prière de|veuillez|il faut(?: encore)?|(?:reste|restent) à)"
    r" (?:bien )?\w{2,}(?:er|ir|re)\b"
    r"|\b(?:si prega di|per favore,?|bisogna|occorre|(?:resta|restano|è|sono) da)"
    r" (?:ancora )?\w{2,}(?:are|ere|ire|rre)\b"
    r"|\b(?:por favor,?|hay que|se ruega|favor de|(?:queda|quedan|falta|faltan) por)"
    r" \w{2,}[aei]r(?:l[oae]s?)?\b",
    re.IGNORECASE,
)
# Nothing is asked for, it was done, or it is not to be done.
_ASKS_NOTHING = re.compile(
    rf"^{_LABEL}[^:]{{0,30}}: (?:nothing|none|no|nichts|keine?|-|n/?a)\b"
    r"|\b(?:please|bitte) (?:do not|don't|do nothing|never|nicht|nichts)\b"
    r"|\b(?:done|erledigt|ok now|completed)\W*$|\bshould have\b"
    r"|\b(?:no|not|kein\w*|nicht) (?:need|muss|müssen|have|has|zu)\b"
    r"|\b(?:need|must|should|muss|soll) (?:not|nicht)\b"
    r"|\b(?:ne (?:pas|rien)|n['\u2019]y a (?:pas|rien)|non (?:bisogna|occorre)"
    r"|no (?:hay|queda|quedan|falta|faltan))\b"
    rf"|^{_LABEL}[^:]{{0,30}}: (?:rien|aucun|néant|nulla|niente|nessun|nada|ningun)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[ \t]{0,8}(?:[-*\u2022\u2013]|\d{1,2}[.)])[ \t]")
_LETTER = re.compile(r"[^\W\d_]{2}")


def find_actions(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences stand that ask for something to be done, in order.

    What stands as a list below `To do:` is asked for, too.
    """
    text = blank_quoted_lines(text)
    is_list = False
    for start, end in sentences(text):
        # Lines may be broken anywhere in it.
        sentence = " ".join(text[start:end].split())
        if _HEAD.fullmatch(sentence):
            is_list = True
            continue
        line = text.rfind("\n", 0, start) + 1
        is_list = is_list and _BULLET.match(text, line) is not None
        if not _LETTER.search(sentence) or _ASKS_NOTHING.search(sentence):
            continue
        is_question = sentence.endswith("?") and "please" not in sentence.lower()
        if is_list or (_ASKS.search(sentence) and not is_question):
            yield start, end
