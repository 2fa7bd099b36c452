"""What German compounds of a control room are made of; folded, in the singular."""

from __future__ import annotations

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
