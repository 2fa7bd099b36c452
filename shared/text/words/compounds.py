"""German compounds: `Kühlwasserdurchfluss` is found by `Kühlwasser`, too."""

MIN_COMPOUND_CHARS = 8
_MIN_PART, _MAX_PART = 3, 24
# One end may be unknown, if what is known beside it is long enough to be no accident.
_MIN_KNOWN, _MIN_UNKNOWN = 5, 4
_MAX_PARTS = 6
_MAX_COMPOUND_CHARS = 60
# What joins two parts, and what a last part ends with when it is bent.
_JOINTS = ("", "s", "n", "en", "es", "e", "er", "ns")
_ENDINGS = ("", "e", "n", "s", "en", "er", "es", "ern", "em", "ns")

# What makes a word of one part, and no compound.
_SUFFIXES = frozenset(
    {
        *("isch", "ische", "ischen", "ischer", "ieren", "iert", "ierte", "ierten"),
        *("ierung", "ierungen", "lich", "liche", "ungen", "barkeit", "schaft"),
        *("heit", "heiten", "keit", "keiten"),
    }
)
# What compounds of a control room are made of; folded, in the singular.
_PLANT = """
abfall abgas ablage ablenk abluft abschirm absorber abstell achse aktor alarm ampere
analyse anfahr anker anlage anlagen anode anschluss antenne antrieb anzeige arbeit
archiv atmosphare aufbau ausfall ausgang auslass auslese austausch austritt bahn
batterie beamline beleuchtung bereich bestrahlung betrieb biege bild blende block boden
bogen booster brand brems brenn bruch brucke buchse bundel bunker bus bypass dampf daten
dauer decke deckel defekt dewar dicht dichtung dienst differenz digital diode dipol dose
dosimeter dosis draht dreh drossel druck durchfluss durchfuhrung durchsatz dusche duse
echo eingang einheit einlass einspeise einspritz eintritt eis eisen elektro elektrode
elektron elektronik element emittanz empfanger endschalter energie entlade entladung
entluft experiment experimentier faden fahr fahrt faraday feder fehler feinvakuum feld
fenster fern feuchte feuer filter flansch flasche flucht fluss flussig form freigabe
frequenz frischluft front fuhler fuhrung funk funktion gamma gang gas gebaude geber
gefahr gehause gelande gen generator gerat geschwindigkeit getter gitter glas gleich
grenz gruppe gummi gyrotron halle halter halterung haupt havarie heiz heizung helium
hilfs hitze hoch hohe hub hutte hydraulik impuls inbetriebnahme injektion injektor insel
instrument interlock ion ionen isolation isolator kabel kalibrier kalt kalte kammer
kanal kanne kanone kappe karte kasten kathode keller kern kessel kette klappe
kleinwinkel klemme klima klystron knopf kohle kohlen kollimator kompensation kompressor
kondensat kondensator konsole kontakt kontroll kopf koppler korrektur kraft kran kreis
kreislauf kristall kryo kryostat kugel kuhl kuhler kuhlung kupfer kupplung kurzschluss
ladung lager lampe lange laser last lauf lebensdauer leck leckage leckrate leistung leit
leiter leitung licht linac linear linie linse loch losch luft lufter magnet maschine
masse mess messung mikro mitte mittel modul modulator monitor monochromator montage
motor muffe multipol nacht nebel nenn netz netzteil netzwerk niederspannung niveau not
notaus objekt ofen offset optik orbit ort paket pegel pendel phase photon plan plasma
platine platte pneumatik pol position prasenz presse primar probe proben programm
protokoll proton prufung puffer puls pulver pump pumpe punkt quadrupol quelle quench
querschnitt rad rampe rand rauch raum rechner referenz regel regelung regler reinigung
reinraum reinst relais reparatur reserve resonator rest ring rohr rohre rontgen rost
rotor routine ruck ruhe rundgang sammel sattigung sauer sauerstoff saug saule schacht
schaden schalt schalter schaltung scheibe schicht schieber schieflage schiene schild
schirm schlauch schleife schleuse schliess schloss schlussel schmelz schmier schnell
schrank schraube schritt schutz schwelle schwingung segment seil seiten sekundar sender
sensor septum server servo sextupol sicherheit sicherung signal simulation software
solar soll spalt spannung speicher speise spektrum sperr spiegel spindel spitze sprung
spule stand stander start station staub steck stecker stell stellung stellwerk steuer
steuerung stick stickstoff stoff stopp storung strahl strahlung strang strecke strom
stromung stufe stutz stutzen system takt tank target taster tastkopf taupunkt technik
teil teilchen temperatur test thermo thyratron tief timing trafo trager transfer
transformator transport trenn trigger trocken tropf tunnel tur turbine turbo uberdruck
uberwachung uhr ultrahoch umform umlauf umluft umrichter undulator unfall unter
unterbrechung vakuum ventil ventilator verbindung verbrauch verbraucher verdampfer
verdichter verlust verriegelung verschluss versorgung verstarker versuch verteiler
verteilung video vorlauf vorpumpe waage wachter wagen wand wandler warm warme
warmetauscher warn warnung wart wartung wasser wasserstoff wechsel wechselrichter weg
weiche welle wender werk werkstatt wert wetter wickel widerstand wiggler winkel wirbel
zahl zahler zange zeit zelle zentral ziel zufuhr zugang zulauf zuleitung zuluft zustand
zyklotron zyklus zylinder
"""
PARTS = frozenset(_PLANT.split())

Span = tuple[int, int]
_Ways = dict[int, list[Span] | None]


def split(word: str, vocabulary: frozenset[str]) -> list[Span]:
    """Return where the parts of a folded word stand; empty for what is no compound."""
    if not MIN_COMPOUND_CHARS <= len(word) <= _MAX_COMPOUND_CHARS:
        return []
    whole = _walk(word, 0, vocabulary, {})
    if whole is not None:
        return whole if 1 < len(whole) <= _MAX_PARTS else []
    return _with_a_known_end(word, vocabulary)


def parts_of(word: str, vocabulary: frozenset[str]) -> list[str]:
    """Return every run of neighbouring parts of a word but the word itself."""
    spans = split(word, vocabulary)
    found = [
        word[spans[first][0] : spans[last][1]]
        for first in range(len(spans))
        for last in range(first, len(spans))
        if (first, last) != (0, len(spans) - 1)
    ]
    return list(dict.fromkeys(found))


def _walk(
    word: str, start: int, vocabulary: frozenset[str], known: _Ways
) -> list[Span] | None:
    """Return the parts from here to the end, the longest first; None: no way."""
    if start in known:
        return known[start]
    known[start] = found = _first_way(word, start, vocabulary, known)
    return found


def _first_way(
    word: str, start: int, vocabulary: frozenset[str], known: _Ways
) -> list[Span] | None:
    longest = min(len(word), start + _MAX_PART)
    for end in range(longest, start + _MIN_PART - 1, -1):
        if word[start:end] not in vocabulary:
            continue
        if word[end:] in _ENDINGS:
            return [(start, len(word))]
        for joint in _JOINTS:
            if not word.startswith(joint, end):
                continue
            rest = _walk(word, end + len(joint), vocabulary, known)
            if rest:
                return [(start, end), *rest]
    return None


def _with_a_known_end(word: str, vocabulary: frozenset[str]) -> list[Span]:
    for size in range(min(len(word) - _MIN_UNKNOWN, _MAX_PART), _MIN_KNOWN - 1, -1):
        if word[:size] in vocabulary and word[size:] not in _SUFFIXES:
            return [(0, size), (size, len(word))]
    for start in range(_MIN_UNKNOWN, len(word) - _MIN_KNOWN + 1):
        if _is_bent(word[start:], vocabulary):
            return [(0, start), (start, len(word))]
    return []


def _is_bent(part: str, vocabulary: frozenset[str]) -> bool:
    return any(
        len(part) - len(ending) >= _MIN_KNOWN
        and part.endswith(ending)
        and part[: len(part) - len(ending)] in vocabulary
        for ending in _ENDINGS
    )
