"""What a question takes for done, `repaired`, other words for that, and who did it."""

import functools
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from shared.text.analysis.tokens import scan
from shared.text.words.folding import fold

# Where, when and by whom something was done is told with what was done.
KINDS = frozenset({"when", "who", "where", "how_long"})
# How the word for it ends, or is built, behind what makes it passive or perfect.
_IRREGULAR = """
    broken brought built burnt caught cut driven found hidden hit hung hurt lost
    sent shot shut sold spilt split stolen struck stuck swept torn
    welded withdrawn worn
"""
_ENGLISH = rf"\w{{3,}}ed|{'|'.join(_IRREGULAR.split())}"
_PASSIVE = re.compile(
    rf"\b(?:was|were|been|being|be|is|are|got|get)\b(?P<rest>.*?\b(?:{_ENGLISH})\b.*)",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(rf"\b(?:{_ENGLISH})\b", re.IGNORECASE)
# `Who repaired`; a German verb ends its clause and begins with a small letter.
_OTHER_WAYS = tuple(
    re.compile(form)
    for form in (
        r"\A\W*[Ww]ho (?:has |had )?(?:\w+ly )?(\w+[^\Ws])\b",
        r"\b[Ww](?:urden?|orden)\b.*?\b([^\WA-Z]+(?:t|en))\W*\Z",
        r"\b(?:hat|haben|ist|sind)\b.*?\b((?!\d)[^\WA-Z]+(?:t|en))\W*\Z",
        r"\b\u00e9t\u00e9 (?:\w+ment )?(\w+[\u00e9iust]e?s?)\b",
        r"\b(?:a|ont)(?:-t)?-(?:il|elle|on|ils|elles) (\w+(?:\u00e9|i|it|is|u))\b",
        r"\b(?:stat[oaie]|venn?e|[Cc]hi ha) (\w+[st][oaie])\b",
        r"\b(?:fue|fueron|sido|[Qq]ui\u00e9n ha) (\w+(?:[dt]|ch)[oa]s?)\b",
    )
)
# `Why did the helium compressor stop?`
_DOING = re.compile(
    r"\b(?:did|does|do|has|have|had|ist|sind|hat|haben|wurden?)\s"
    r"(?:the\s|an?\s|our\s|der\s|die\s|das\s)?(?:[\w-]+\s){0,3}?"
    r"(?<!\bin\s)(?<!\bat\s)(?<!\bof\s)(?<!\bon\s)(?<!\bim\s)(?<!\bam\s)(?<!\ban\s)"
    r"(?<!\bbei\s)(?<!\bvon\s)(?<!\bauf\s)"
    r"(?P<what>[^\W\d_]+)\s(?P<did>[^\W\d_]+)\W*\Z",
    re.IGNORECASE,
)
# `How do we reset the loop`, `wie kann man es zur\u00fccksetzen`.
_HOW_TO = re.compile(
    r"\bhow (?:(?:do|can|should|must|shall) (?:we|you|i|one|they)|does one|to)"
    r" (?:\w+ly )?(?P<do>\w+)"
    r"|\bwie (?:kann|muss|soll\w*|darf) (?:ich|man|wir)\b.*?(?P<tun>\w+n)\W*\Z"
    r"|\bwie (?P<tut>\w+) (?:ich|man|wir)\b"
    r"|\bcomment (?:on |(?:faut|doit|peut)-(?:il|on) )?(?P<faire>\w+)"
    r"|\bcome (?:si )?(?P<fare>\w+)|\bc\u00f3mo (?:se )?(?P<hacer>\w+)",
    re.IGNORECASE,
)
# `Nothing tripped`, `no more trips`, `has not been replaced`.
_DENIES = re.compile(
    r"\b(?:nothing|no|none|never|not|without|nichts?|nie|kein\w*|ohne|rien|aucune?|pas"
    r"|jamais|sans|nessun\w*|niente|mai|senza|ning[u\u00fa]n\w*|nada|nunca|sin)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_WORDS_DENIED = 3
_IS_ON = re.compile(r"\b(?:on|off|an|aus|ein)\W*\Z", re.IGNORECASE)
# Words for one deed, in five languages. What mends a thing is not all one: when it was
# repaired is not told by when it was cleaned.
_ALIKE_WORDS = """
    replaced exchanged swapped changed renewed replacement exchange swap ersetzt
    getauscht ausgetauscht gewechselt erneuert tausch austausch remplac\u00e9
    remplac\u00e9e chang\u00e9 chang\u00e9e \u00e9chang\u00e9 \u00e9chang\u00e9e
    sostituito sostituita cambiato cambiata sustituido sustituida cambiado cambiada;
    repaired fixed mended repair repariert instandgesetzt reparatur r\u00e9par\u00e9
    r\u00e9par\u00e9e riparato riparata reparado reparada arreglado;
    installed mounted fitted installation eingebaut montiert installiert einbau
    install\u00e9 install\u00e9e mont\u00e9 mont\u00e9e installato installata
    montato montata instalado instalada montado montada;
    removed dismantled removal ausgebaut entfernt abgebaut ausbau enlev\u00e9
    enlev\u00e9e d\u00e9mont\u00e9 d\u00e9mont\u00e9e rimosso rimossa smontato
    smontata retirado retirada desmontado desmontada;
    restarted rebooted restart reboot neugestartet red\u00e9marr\u00e9
    red\u00e9marr\u00e9e riavviato riavviata reiniciado reiniciada;
    checked inspected tested examined verified check inspection test gepr\u00fcft
    kontrolliert getestet pr\u00fcfung kontrolle v\u00e9rifi\u00e9
    v\u00e9rifi\u00e9e contr\u00f4l\u00e9 contr\u00f4l\u00e9e test\u00e9 controllato
    controllata verificato verificata provato comprobado comprobada revisado
    revisada probado;
    cleaned gereinigt geputzt reinigung nettoy\u00e9 nettoy\u00e9e pulito pulita
    limpiado limpiada;
    found discovered detected located gefunden entdeckt trouv\u00e9 trouv\u00e9e
    d\u00e9couvert d\u00e9couverte trovato trovata encontrado encontrada;
    closed shut geschlossen ferm\u00e9 ferm\u00e9e chiuso chiusa cerrado cerrada;
    opened open ge\u00f6ffnet offen ouvert ouverte aperto aperta abierto abierta;
    isolated blanked abgesperrt isol\u00e9 isol\u00e9e isolato isolata aislado
    aislada;
    bypassed bypass bridged jumpered overridden defeated \u00fcberbr\u00fcckt
    gebr\u00fcckt umgangen shunt\u00e9 shunt\u00e9e pont\u00e9 pont\u00e9e
    contourn\u00e9 bypassato bypassata ponticellato escluso puenteado puenteada;
    off running eingeschaltet ausgeschaltet l\u00e4uft allum\u00e9 allum\u00e9e
    \u00e9teint \u00e9teinte acceso accesa spento spenta encendido encendida apagado
    apagada;
    hurt injured injury wounded casualties verletzt bless\u00e9 bless\u00e9e
    bless\u00e9s ferito ferita feriti herido herida heridos;
    reported announced notified informed gemeldet signal\u00e9 signal\u00e9e
    segnalato segnalata notificado avisado;
    extinguished gel\u00f6scht \u00e9teint spento apagado;
    finished completed ended done beendet abgeschlossen fertig fini termin\u00e9
    termin\u00e9e finito terminato terminado acabado;
    lost loss verloren verlust perdu perdue perso persa perdido perdida;
    stopped stop tripped trip shut interrupted angehalten gestoppt ausgefallen
    abgeschaltet arr\u00eat\u00e9 arr\u00eat\u00e9e fermato fermata parado parada;
    moved shifted displaced verschoben versetzt umgesetzt d\u00e9plac\u00e9
    d\u00e9plac\u00e9e spostato spostata movido movida desplazado desplazada;
    reset zur\u00fcckgesetzt quittiert r\u00e9initialis\u00e9 r\u00e9arm\u00e9 resettato
    ripristinato rearmado restablecido;
    adjusted aligned realigned adjustment alignment eingestellt nachgestellt
    justiert ausgerichtet justage r\u00e9gl\u00e9 r\u00e9gl\u00e9e align\u00e9
    ajust\u00e9 ajust\u00e9e regolato regolata allineato allineata ajustado ajustada
    alineado alineada regulado;
    locked lock locks lockout loto tagged tagout padlock padlocked gesperrt sperre
    schloss freigeschaltet consign\u00e9 consign\u00e9e consignation cadenas
    cadenass\u00e9 cadenass\u00e9e verrouill\u00e9 verrouill\u00e9e lucchetto lucchetti
    candado bloqueado bloqueada bloqueo;
    released unlocked freigegeben lib\u00e9r\u00e9 lib\u00e9r\u00e9e rilasciato
    sbloccato liberado desbloqueado;
"""
# Each with its opposite, which tells how something is as well.
_OPPOSITES = (
    {"closed", "opened", "isolated"},
    {"locked", "released"},
    {"installed", "removed"},
    {"off", "stopped", "restarted"},
)
# What whoever writes did: behind `I`, or joined to what is, but for what they only saw,
# said, thought or left to others.
_ADVERBS = (
    r"(?:(?:have|had|also|then|now|just|finally|again|already|aussi|d\u00e9j\u00e0|bien"
    r"|appena|gi\u00e0|anche|ya|tambi\u00e9n|\w{1,20}(?:ly|mente?)) ){0,3}"
)
_OTHERS = (
    r"(?!(?:think|thought|believe\w*|suspect\w*|guess\w*|asked|told|saw|seen|heard"
    r"|noticed|know|knew|vu|su|dit|demand\u00e9|visto|saputo|detto|chiesto|sabido|dicho"
    r"|pedido)\b)"
)
_BEHIND_I = rf"{_ADVERBS}{_OTHERS}(?P<did>\w+)(?P<more>[^.;:!?]*)"
_JOINED = re.compile(
    rf"(?:\b(?:and|et|e|y)|,) (?:then |puis |poi |luego )?{_ADVERBS}(\w+)",
    re.IGNORECASE,
)
_OWN = (
    # `Replaced the tray`: a log leaves out who did it, its author.
    re.compile(
        rf"\A\W*(?P<did>{_ENGLISH}) (?:the|an?|all|both|its|our|my)\b", re.IGNORECASE
    ),
    re.compile(rf"\b(?:I|we)(?: |['\u2019](?:ve|d) ){_BEHIND_I}", re.IGNORECASE),
    re.compile(
        rf"\b(?:j['\u2019]a(?:i|vais)|nous av(?:ons|ions)|on a|abbiamo|avevamo|hemos"
        rf"|hab\u00edamos) {_BEHIND_I}",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:hab(?:e|en wir)|wir haben|ich hatte|hatten? (?:ich|wir)|wir hatten)\b"
        r"(?P<rest>[^.;:!?]*)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:ich|wir) (?P<did>\w+ten?)\b|\b(?P<before>\w+ten?) (?:ich|wir)\b"
        r"|\b(?P<done>\w+) (?:by (?:me|us)|par (?:moi|nous)|da (?:me|noi)"
        r"|por (?:m\u00ed|nosotros))\b"
        r"|\b(?:von|durch) (?:mir|mich|uns)\b(?P<rest>[^.;:!?]*)",
        re.IGNORECASE,
    ),
)
# In other languages these say something else.
_OWN_IN = {
    "it": (re.compile(rf"\b(?:ho|avevo) {_BEHIND_I}", re.IGNORECASE),),
    "es": (
        re.compile(rf"\bhe {_BEHIND_I}", re.IGNORECASE),
        re.compile(r"\b(?P<did>\w{2,}(?:\u00e9|\u00ed|[ai]mos))\b", re.IGNORECASE),
    ),
}
# What somebody else said is quoted, or has their name before it.
_SAID_BY_OTHERS = re.compile(r"\s*(?:>|[A-Z][\w.'-]*(?: [A-Z][\w.'-]*)?:\s)")
_QUOTES = re.compile('["\u201c\u201d\u201e]')
_NOT_DONE = re.compile(
    r"\b(?:not|never|nicht|nie|kein\w*|pas|jamais|non|mai|no|nunca|dass|that|que|che"
    r"|lassen|fait)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
# Who only tells of it: `the operator reported`, `reported by Novak`.
_TELLS = (
    r"\b(?:report(?:s|ed)?|announce[sd]|notified|inform(?:s|ed)|told|says?|said|noted"
    r"|noticed|according|gemeldet|meldete?n?|berichtete?n?|informiert|laut|signal\u00e9e?"
    r"|signale|rapporte|inform\u00e9e?|segnala(?:t[oa])?|riferi(?:sce|to)|informat[oa]"
    r"|avisad[oa]|avisa|notificad[oa]|informa(?:d[oa])?)\b"
)
_TELLING = re.compile(_TELLS, re.IGNORECASE)
_TELLERS = (
    re.compile(
        rf"{_TELLS}(?: \w+)? (?:by|to|von|durch|par|\u00e0|aux?|da|al?|por)"
        r" (?:(?:the|an?|our|de[rmn]|die|das|la|le|il|lo|el) )?\w+(?: (?-i:[A-Z])\w+)?",
        re.IGNORECASE,
    ),
    re.compile(rf"(?:\b\w+ ){{1,3}}{_TELLS}", re.IGNORECASE),
)
_WORD = re.compile(r"\w+")
# So many letters of a verb are alike in its forms.
_SAME_LETTERS = 4
_ALIKE = tuple(frozenset(group.split()) for group in _ALIKE_WORDS.split(";"))


def find_deed(question: str, words: Sequence[str]) -> str:
    """Return the verb for a deed, `repaired`, of the words that mean something.

    Empty: nothing is, or it is said in no form that is known.
    """
    return next((one for one in _list_verbs(question) if one in words), "")


def find_doing(question: str) -> tuple[str, str] | None:
    """Return the thing that a question is about and its verb: `compressor`, `stop`.

    None: it does not end with the verb, or begins otherwise.
    """
    doing = _DOING.search(question)
    return (doing["what"], doing["did"]) if doing else None


def find_task(question: str, words: Sequence[str]) -> str:
    """Return the verb of what is to be done, `reset`; empty: not clear."""
    found = _HOW_TO.search(question)
    verb = found[found.lastgroup or 0] if found else ""
    return verb if verb in words else ""


def find_state(question: str, words: Sequence[str]) -> str:
    """Return the word for how something is by a question, `open`; empty: not clear."""
    if _IS_ON.search(question):
        # These are in every text: others for them are not.
        return "off"
    named = (one for one in reversed(words) if list_alike(one))
    return find_deed(question, words) or next(named, "")


@functools.lru_cache(maxsize=2048)
def list_states(state: str) -> str:
    """Return the words for a state and for its opposite, with blanks between them."""
    alike = {state, *list_alike(state).split()}
    joined = [rows for rows in _OPPOSITES if alike & rows]
    opposed = (list_alike(one).split() for rows in joined for one in rows)
    return " ".join(sorted(alike.union(*opposed)))


@functools.lru_cache(maxsize=2048)
def list_alike(deed: str) -> str:
    """Return the other words for a deed, with blanks between them."""
    small = deed.lower()
    return " ".join(sorted(one for group in _ALIKE if small in group for one in group))


def list_denied(sentence: str, language: str) -> frozenset[str]:
    """Return the terms of what a sentence says is not so: of a few words each time."""
    return frozenset(
        one.term
        for denied in _DENIES.finditer(sentence)
        for one in islice(scan(sentence[denied.end() :], language), _WORDS_DENIED)
    )


def is_form_of(verb: str, asked: Sequence[str]) -> bool:
    """Tell whether a word begins as one of some folded words does."""
    begins = fold(verb)[:_SAME_LETTERS]
    return bool(begins) and any(word.startswith(begins) for word in asked)


def blank_tellers(sentence: str, words: Sequence[str]) -> str:
    """Return a sentence without who only tells of a deed, where that is not asked."""
    if _TELLING.search(" ".join(words)):
        return sentence
    for form in _TELLERS:
        sentence = form.sub(";", sentence)
    return sentence


def tells_own_deed(sentence: str, language: str, words: Sequence[str]) -> bool:
    """Tell whether who writes a sentence did one of these words: `I moved the mask`."""
    if _SAID_BY_OTHERS.match(sentence) or sentence.rstrip().endswith("?"):
        return False
    asked = [fold(word) for word in words]
    return any(
        is_form_of(verb, asked)
        for form in (*_OWN, *_OWN_IN.get(language, ()))
        for found in form.finditer(sentence)
        if len(_QUOTES.findall(sentence, 0, found.start())) % 2 == 0
        for verb, end in _list_own_verbs(found)
        if not _NOT_DONE.search(sentence, _clause_start(found), end)
    )


def _list_own_verbs(found: re.Match[str]) -> Iterator[tuple[str, int]]:
    """Yield what may be a verb of what somebody says of themselves, and its end."""
    for name, said in found.groupdict().items():
        if said is None:
            continue
        form = _JOINED if name == "more" else _WORD
        for verb in form.finditer(found.string, *found.span(name)):
            yield verb[form.groups], verb.end()


def _clause_start(found: re.Match[str]) -> int:
    return 1 + max(found.string.rfind(mark, 0, found.start()) for mark in ".;:!?,")


def _list_verbs(question: str) -> Iterator[str]:
    passive = _PASSIVE.search(question)
    if passive is not None:
        yield from reversed(_PARTICIPLE.findall(passive["rest"]))
    for form in _OTHER_WAYS:
        yield from form.findall(question)
