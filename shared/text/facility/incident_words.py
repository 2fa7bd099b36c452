"""The words by which logbooks tell of an incident, in one table to read and to extend.

`*` is any ending, `..` up to three other words, a blank is a hyphen, too; an umlaut is
found as `ae` as well. What a phrase says may be denied or planned: `incidents` knows.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Step = Literal["trip", "cause", "action", "restored", "note"]
State = Literal["open", "monitoring", "resolved", "unknown"]
# What a phrase says. Facilities add phrases of their own to any of these.
Kind = Literal["trip", "cause", "action", "restored", "watching", "open"]


class Meaning(NamedTuple):
    """Which step of an incident it is, and how things stand after it; None: as before.

    Of several in a clause the first of the table counts: `fault cleared` is no fault.
    """

    step: Step
    state: State | None
    phrases: tuple[str, ...]


# In French, Italian and Spanish.
_MENDED_ELSEWHERE = (
    *("remplacé", "remplacée", "changé", "changée", "nettoyé", "nettoyée"),
    *("réinitialisé", "resserré", "sostituito", "sostituita", "pulito", "pulita"),
    *("resettato", "resettata", "serrato", "sustituido", "sustituida", "cambiado"),
    *("cambiada", "cambió", "limpió", "limpiado", "rearmado", "rearmó"),
)

WORDS: Mapping[Kind, Meaning] = {
    "open": Meaning(
        "note",
        "open",
        (
            *("still out", "still off", "still down", "still broken", "still faulty"),
            *("still open", "still leaking", "is down", "are down", "is off"),
            "no beam",
            *("not understood", "not clear", "unclear", "not known", "out of order"),
            *("cause unknown", "cause .. unknown", "unknown cause", "no cause found"),
            *("unsolved", "unresolved", "under investigation", "investigating"),
            *("problem persists", "problem remains", "fault persists", "leak persists"),
            *("noch aus", "noch offen", "noch defekt", "weiterhin aus", "kein strahl"),
            *("weiterhin gestört", "noch gestört", "weiter gestört", "außer betrieb"),
            *("unklar", "ungeklärt", "unverstanden", "nicht verstanden", "nicht klar"),
            *("ursache .. unbekannt", "wird untersucht", "problem besteht"),
            *("toujours en panne", "encore en panne", "pas de faisceau"),
            *("hors service", "cause inconnue", "pas compris", "pas clair"),
            *("à l'arrêt", "ne .. plus"),
            *("ancora guasto", "ancora guasta", "ancora fermo", "ancora ferma"),
            *("fuori servizio", "causa sconosciuta", "non chiaro", "nessun fascio"),
            *("sigue averiado", "sigue averiada", "sigue parado", "sigue parada"),
            *("fuera de servicio", "causa desconocida", "no está claro", "sin haz"),
        ),
    ),
    "watching": Meaning(
        "note",
        "monitoring",
        (
            *("watching", "will watch", "to watch", "watch it", "will observe"),
            *("observing", "to observe", "will monitor", "to monitor", "monitoring"),
            *("being monitored", "keep monitoring", "will keep an eye", "an eye on"),
            *("under observation", "under watch", "to be watched", "to be observed"),
            *("wird beobachtet", "werden beobachtet", "weiter beobacht*", "beobachten"),
            *("unter beobachtung", "im auge behalten", "wird überwacht"),
            *("à surveiller", "sous surveillance", "da tenere d'occhio"),
            *("sotto osservazione", "en observación", "hay que vigilar"),
        ),
    ),
    "restored": Meaning(
        "restored",
        "resolved",
        (
            *("beam .. back", "beam again", "beam restored", "back on", "back online"),
            *("is back", "are back", "came back", "come back", "comes back"),
            *("back to normal", "back in operation", "normal again"),
            *("back in service", "back to service", "back to users", "all back"),
            *("restored", "recovered", "resumed", "resumes", "fixed", "repaired"),
            *("resolved", "solved", "cleared", "released", "operational again"),
            *("running again", "works again", "working again", "ok again"),
            *("back at", "closes again", "opens again", "runs again", "starts again"),
            *("operating again", "stored again", "issue closed", "ticket closed"),
            *("behoben", "repariert", "gelöst", "freigegeben", "wiederhergestellt"),
            *("wieder da", "wieder in betrieb", "wieder verfügbar", "wieder ok"),
            *("wieder gespeichert", "wieder normal", "wieder online", "wieder dicht"),
            *("wieder an", "wieder ein", "läuft wieder", "laufen wieder"),
            *("schließt wieder", "öffnet wieder", "wieder im betrieb"),
            *("strahl .. zurück", "funktioniert wieder", "erledigt", "instandgesetzt"),
            *("réparé", "réparée", "résolu", "résolue", "rétabli", "rétablie"),
            *("redémarrage", "redémarré", "redémarrée", "faisceau .. retour"),
            *("retour du faisceau", "fonctionne à nouveau", "remis en service"),
            *("riparato", "riparata", "risolto", "risolta", "ripristinato"),
            *("ripristinata", "riavviato", "riavviata", "fascio di nuovo"),
            *("funziona di nuovo", "di nuovo in funzione", "fascio .. ritornato"),
            *("reparado", "reparada", "resuelto", "resuelta", "restablecido"),
            *("restablecida", "haz de nuevo", "funciona de nuevo"),
            *("vuelve a funcionar", "volvió a arrancar", "volvió a funcionar"),
            "de nuevo en marcha",
        ),
    ),
    "cause": Meaning(
        "cause",
        None,
        (
            *("cause", "causes", "caused by", "because", "because of", "due to"),
            *("root cause", "reason", "traced to", "turned out", "culprit"),
            *("attributed to", "triggered by", "leak found", "found .. leak"),
            *("leak located", "located .. leak"),
            *("ursache", "grund", "wegen", "aufgrund", "auf grund", "verursacht"),
            *("ausgelöst durch", "weil", "zurückzuführen", "schuld", "leck gefunden"),
            *("à cause", "cause", "parce", "dû à", "due à", "provoqué par"),
            *("a causa", "causa", "perché", "dovuto a", "dovuta a", "causato da"),
            *("debido a", "porque", "causado por", "por culpa"),
        ),
    ),
    "action": Meaning(
        "action",
        None,
        (
            *("reset", "resetting", "restarted", "restarting", "rebooted", "replaced"),
            *("replacing", "exchanged", "swapped", "adjusted", "called", "on call"),
            *("tightened", "pumped", "pumping", "vented", "venting", "baked", "baking"),
            *("conditioned", "conditioning", "switched off", "switched on"),
            *("turned off", "turned on", "switched to", "opened", "closed", "bypassed"),
            *("isolated", "power cycled", "reconnected", "cleaned", "refilled"),
            *("started", "access to", "ramped", "ramping", "installed", "removed"),
            *("quittiert", "zurückgesetzt", "neu gestartet", "neugestartet"),
            *("getauscht", "ausgetauscht", "ersetzt", "gewechselt", "angerufen"),
            *("verständigt", "informiert", "gerufen", "nachgezogen", "abgepumpt"),
            *("belüftet", "ausgeheizt", "geöffnet", "geschlossen", "überbrückt"),
            *("gereinigt", "justiert", "eingeschaltet", "angefahren", "abgedichtet"),
            *_MENDED_ELSEWHERE,
        ),
    ),
    "trip": Meaning(
        "trip",
        "open",
        (
            *("trip", "trips", "tripped", "tripping", "fault", "faults", "faulted"),
            *("quench", "quenched", "beam loss", "beam lost", "lost .. beam"),
            *("beam dump", "beam dumped", "dumped", "beam .. lost", "interlock"),
            "interlocks",
            *("failed", "failure", "fails", "broke", "broken", "crashed", "leak"),
            *("leaks", "leaking", "pressure rise", "pressure rises", "pressure rising"),
            *("pressure rose", "vacuum burst", "went down", "went off", "seized"),
            *("outage of", "power outage", "network outage", "forced outage"),
            "unplanned outage",
            *("power cut", "power dip", "alarm", "out of service", "beam gone"),
            *("overheated", "stuck", "dropout", "dropouts", "reboot", "reboots"),
            *("stopped on", "following error", "pressure burst", "pressure bursts"),
            *("pressure spike", "pressure spikes"),
            *("ausgefallen", "ausfall", "fällt aus", "fiel aus", "störung", "gestört"),
            *("strahlverlust", "strahl verloren", "strahl .. weg", "gequencht"),
            *("ausgelöst", "abgeschaltet", "abgestürzt", "fehler", "leck", "undicht"),
            *("druckanstieg", "defekt", "stromausfall", "netzwischer"),
            *("déclenché", "déclenchement", "panne", "perte de faisceau"),
            *("perte du faisceau", "coupure", "fuite", "cassé", "cassée", "arrêt du"),
            *("arrêt de la", "alarme", "scattato", "scattata", "guasto", "guasta"),
            *("perdita di fascio", "perdita del fascio", "perso il fascio", "allarme"),
            *("si è fermato", "si è fermata", "bloccato", "bloccata", "rotto", "rotta"),
            *("disparó", "disparo", "avería", "averiado", "averiada", "fallo", "falló"),
            *("pérdida de haz", "pérdida del haz", "se paró", "quemado", "quemada"),
            *("se rompió", "está roto", "está rota", "fuga", "alarma", "corte de"),
        ),
    ),
}

# What is done to a thing so that it works again; `closed` or `removed` may break it.
MENDING = (
    *("reset", "resetting", "restarted", "restarting", "rebooted", "replaced"),
    *("replacing", "exchanged", "swapped", "adjusted", "tightened", "conditioned"),
    *("conditioning", "power cycled", "reconnected", "cleaned", "refilled"),
    *("quittiert", "zurückgesetzt", "neu gestartet", "neugestartet", "getauscht"),
    *("ausgetauscht", "ersetzt", "gewechselt", "nachgezogen", "gereinigt"),
    *("justiert", "abgedichtet"),
    *_MENDED_ELSEWHERE,
)
# What stands before a phrase, or within it, and says that it is not so.
DENIED = (
    *("not", "no", "never", "cannot", "can't", "couldn't", "didn't", "doesn't"),
    *("isn't", "wasn't", "aren't", "weren't", "hasn't", "haven't", "won't", "without"),
    *("nothing", "nobody", "nichts", "niemand", "rien", "niente", "nulla", "nada"),
    *("unable", "neither", "nor", "none", "nicht", "kein", "keine", "keinen"),
    *("keiner", "keinem", "keines", "nie", "ohne", "weder", "failed to", "fails to"),
    *("pas", "aucun", "aucune", "jamais", "sans", "nessun", "nessuna"),
    # With its verb: `a non critical pump tripped` denies nothing.
    *("non è", "non sono", "non ha", "non hanno", "non si", "non va", "non viene"),
    "non era",
    *("senza", "sin", "ningún", "ninguna", "nunca"),
)
# What says that it is so no more than it is hoped, feared or asked.
PLANNED = (
    *("will", "would", "should", "shall", "could", "may", "might", "must", "can"),
    *("to be", "to get", "to have", "if", "unless", "until", "once", "before"),
    *("expect", "expected", "expecting", "plan", "planned", "scheduled", "hopefully"),
    *("need", "needs", "try", "trying", "tried", "attempt", "attempting", "maybe"),
    "almost",
    *("partly", "partially", "wird", "werden", "soll", "sollen", "sollte", "muss"),
    *("müssen", "kann", "könnte", "wenn", "falls", "bis", "sobald", "bevor", "würde"),
    *("geplant", "hoffentlich", "versucht", "versuchen", "teilweise"),
    *("sera", "seront", "doit", "faut", "prévu", "prévue", "avant", "jusqu'à"),
    *("sarà", "verrà", "deve", "dovrebbe", "previsto", "prevista"),
    *("será", "debe", "hay que", "previsto", "prevista", "hasta", "antes", "cuando"),
)
# Behind what was done or hoped for, it says that it came to nothing.
IN_VAIN = (
    *("failed", "fails", "unsuccessful", "without success", "in vain", "no effect"),
    *("erfolglos", "ohne erfolg", "fehlgeschlagen", "gescheitert", "vergeblich"),
    *("nicht möglich", "not possible"),
    *("en vain", "sans succès", "senza successo", "sin éxito"),
)
# Behind a word of the table: it is part of a thing's name then.
_OF_A_THING = (
    r"(?![ \t-]{1,2}(?:trouble|levels?|limits?|thresholds?|settings?|points?|tests?"
    r"|tree|detectors?|list|logs?|handler|schwellen?|grenzen?|prüfung)(?!\w))"
)
# What is set up has not gone off: `added a warning and an alarm at 4.2 bar`.
_A_DEVICE = (
    r"(?:an?|new|another|second|eine?n?|neue[nrs]?|une?|una|nouvelle|nuov[ao]|nueva)"
    r"\s(?:[\w-]{1,20}\s){0,2}(?:alarm[es]?|interlocks?|trip|alarma|allarme)(?!\w)"
)
_TO_SET_UP = (
    r"(?<!\w)(?:add(?:ed)?|install(?:ed)?|configured?|implement(?:ed)?|defined?|program"
    r"med|set(?: up)?|created?|hinzugef\u00fcgt|eingebaut|eingerichtet|erg\u00e4nzt"
    r"|ajout\u00e9e?|install\u00e9e?|aggiunt[ao]|a\u00f1adid[ao]|a\u00f1adimos)"
)
# It does not end a clause; `4,2` is one.
_A_WORD = r"(?:[^\s;!?]{0,19}[^\s,;!?]\s)"
SET_UP = re.compile(
    rf"{_TO_SET_UP}\s{_A_WORD}{{0,8}}?{_A_DEVICE}"
    rf"|(?<!\w){_A_DEVICE}(?=\s{_A_WORD}{{0,6}}?{_TO_SET_UP}(?!\w))",
    re.IGNORECASE,
)
_ANY, _GAP = r"\w{0,20}", r"\s(?:[^\s.;!?]{1,40}\s){0,3}?"
_UMLAUTS = str.maketrans(
    {"ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)", "ß": "(?:ß|ss)"}
)

Own = tuple[tuple[Kind, tuple[str, ...]], ...]


@functools.lru_cache(maxsize=64)
def patterns(own: Own = ()) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """Return the pattern of each kind of statement, most important kind first."""
    more = dict(own)
    return tuple(
        (kind, compiled((*meaning.phrases, *more.get(kind, ())), _OF_A_THING))
        for kind, meaning in WORDS.items()
    )


@functools.lru_cache(maxsize=64)
def first_words(own: Own = ()) -> Mapping[Kind, frozenset[str] | None]:
    """Return the first words of each kind's phrases; None: a word with any ending.

    Most clauses have none of these: to look is 20 times cheaper than a pattern.
    """
    more = dict(own)
    return {
        kind: _beginnings((*meaning.phrases, *more.get(kind, ())))
        for kind, meaning in WORDS.items()
    }


def _beginnings(phrases: Sequence[str]) -> frozenset[str] | None:
    firsts = [phrase.lower().split()[0] for phrase in phrases]
    if not all(map(str.isalnum, firsts)):
        return None
    written = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
    return frozenset({*firsts, *(one.translate(written) for one in firsts)})


def compiled(phrases: Sequence[str], behind: str = "") -> re.Pattern[str]:
    """Return a pattern that finds any of these phrases as whole words."""
    some = "|".join(_pattern(one) for one in sorted(phrases, key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{some})(?![\w-]){behind}", re.IGNORECASE)


def _pattern(phrase: str) -> str:
    parts = [
        r"[\s-]".join(
            re.escape(word).replace(r"\*", _ANY).translate(_UMLAUTS)
            for word in part.lower().split()
        )
        for part in phrase.split("..")
    ]
    return _GAP.join(parts)
