"""Everyday words of operation in five languages: a row is what means the same.

A question is compared with entries in other languages by them; what stands in no row is
compared by its meaning alone, which of single words is often not clear.
"""

import functools
import re

from shared.text.words.folding import fold_surface, stem
from shared.vocabulary.expand import UNSTEMMED

# English, German, French, Italian, Spanish; rows that are too long go on in the next
# line. Other forms of a word are found by its stem, those of strong verbs stand there.
_LANGUAGES = ("en", "de", "fr", "it", "es")
_NEXT_ROW = re.compile(r"\n(?=\S)")
_ROWS = """
accelerator | Beschleuniger | accélérateur | acceleratore | acelerador
access | Zugang Zutritt | accès | accesso | acceso
adjust adjusted | eingestellt einstellen justiert | réglé régler ajusté | regolato
    regolare | ajustado ajustar
air | Luft | air | aria | aire
alarm | Alarm | alarme | allarme | alarma
alignment | Ausrichtung Justage | alignement | allineamento | alineación
amplifier | Verstärker | amplificateur | amplificatore | amplificador
answer answered | antwortete geantwortet Antwort | répondu réponse | risposto risposta |
    respondió respuesta
antenna | Antenne | antenne | antenna | antena
arc | Lichtbogen Überschlag | arc claquage | arco scarica | arco
arrive arrived | angekommen eingetroffen | arrivé arrivée | arrivato arrivo | llegado
    llegó
backup | Sicherung Datensicherung | sauvegarde | backup | respaldo
battery | Batterie Akku | batterie | batteria | batería
beam | Strahl | faisceau | fascio | haz
bearing | Lager | roulement palier | cuscinetto | rodamiento cojinete
begin began begun | begann begonnen beginnen | commencé commencer | iniziato iniziare
    cominciato | empezó comenzó empezado
belt | Riemen Keilriemen | courroie | cinghia | correa
bend bent | verbogen gebogen | tordu plié | piegato | doblado
bite bitten gnaw | gebissen genagt Biss | mordu rongé | morso rosicchiato | mordido
    roído
block blocked clogged plugged | verstopft blockiert | bouché bloqué obstrué | intasato
    bloccato ostruito | atascado obstruido
boiler | Kessel | chaudière | caldaia | caldera
bolt screw | Schraube Bolzen | boulon vis | bullone vite | tornillo perno
break broke broken | gebrochen zerbrochen brach | cassé rompu rupture | rotto rottura |
    roto rompió rotura
breaker | Schutzschalter Leistungsschalter | disjoncteur | interruttore | disyuntor
    interruptor
brush | Bürste Kohlebürste | balai brosse | spazzola | escobilla
building | Gebäude | bâtiment | edificio | edificio
bunch | Bunch Teilchenpaket | paquet | pacchetto | paquete
burn burnt burned | verbrannt durchgebrannt verschmort | brûlé grillé | bruciato |
    quemado
button | Taste Knopf | bouton | pulsante | botón pulsador
cable | Kabel | câble | cavo | cable
calibration calibrated | Kalibrierung kalibriert geeicht | étalonnage calibré étalonné |
    calibrazione taratura calibrato | calibración calibrado
camera | Kamera | caméra | telecamera | cámara
capacitor | Kondensator | condensateur | condensatore | condensador
catch caught | gefangen erwischt | attrapé capturé | catturato preso | atrapado
    capturado
cavity | Kavität Resonator | cavité | cavità | cavidad
channel | Kanal | canal voie | canale | canal
charge | Ladung | charge | carica | carga
chamber | Kammer | chambre | camera | cámara
chiller | Kältemaschine Kühlaggregat | refroidisseur | refrigeratore | enfriadora
    enfriador refrigerador
clean cleaned | gereinigt geputzt reinigen | nettoyé nettoyer | pulito pulire pulizia |
    limpiado limpio limpiar
close closed shut | geschlossen schloss schließt schließen | fermé fermée fermer |
    chiuso chiusa chiudere | cerrado cerrada cerró
coil | Spule | bobine | bobina | bobina
cold | kalt Kälte | froid froide | freddo | frío
compressor | Kompressor Verdichter | compresseur | compressore | compresor
computer | Rechner Computer | ordinateur | calcolatore computer | ordenador computadora
connection connector plug | Stecker Verbindung Anschluss | connecteur prise connexion |
    connettore spina connessione | conector enchufe conexión
contact | Kontakt | contact | contatto | contacto
container tank vessel | Behälter Tank | réservoir cuve récipient | serbatoio recipiente
    | depósito tanque recipiente
control controller regulator | Regler Steuerung Regelung | régulateur contrôleur
    commande | regolatore controllore controllo | regulador controlador control
cool cooled cooling | Kühlung gekühlt | refroidissement refroidi | raffreddamento
    raffreddato | refrigeración enfriamiento refrigerado
corrector | Korrektor | correcteur | correttore | corrector
cost costs price | Kosten kostet kostete Preis | coût coûte coûté prix | costo costa
    costato prezzo | coste costo cuesta costó precio
coupling | Kupplung Kopplung | accouplement couplage | giunto accoppiamento |
    acoplamiento
cover lid | Deckel Abdeckung | couvercle capot | coperchio | tapa cubierta
crack cracked | Riss gerissen | fissure fissuré | crepa fessura | grieta fisura
    agrietado
crane | Kran | grue pont | gru carroponte | grúa
crew shift | Schicht | équipe quart poste | turno squadra | turno equipo
current | Strom Stromstärke | courant intensité | corrente | corriente
damage damaged | beschädigt Schaden | endommagé dégât dommage | danneggiato danno |
    dañado daño
data | Daten | données | dati | datos
dead died | tot tote gestorben | mort mourir | morto | muerto murió
day | Tag | jour journée | giorno giornata | día
degree degrees | Grad | degré degrés | grado gradi | grado grados
delay delayed late later | Verspätung verzögert später | retard retardé tard | ritardo
    ritardato tardi | retraso retrasado tarde
deliver delivered delivery | geliefert Lieferung | livré livraison | consegnato consegna
    | entregado entrega
detector | Detektor | détecteur | rivelatore | detector
diaphragm membrane | Membran | membrane | membrana | membrana
dipole | Dipol | dipôle | dipolo | dipolo
dirt dirty dust | Schmutz schmutzig verschmutzt Staub | saleté sale poussière | sporco
    polvere | suciedad sucio polvo
display screen | Bildschirm Anzeige Schirm | écran affichage | schermo | pantalla
dome | Kuppel | dôme coupole | cupola | cúpula
door | Tür Tor | porte | porta | puerta
dose | Dosis | dose | dose | dosis
drain drained | abgelassen entleert Ablauf | vidangé vidange | scaricato svuotato
    scarico | drenado vaciado drenaje
drift drifted drifting | Drift driftet gedriftet | dérive dérivé | deriva derivato |
    deriva
drive | Antrieb | entraînement | azionamento | accionamiento
drop dropped dip sag | Einbruch Abfall gesunken | chute baisse chuté baissé
    creux | calo caduta sceso calato | caída bajada cayó bajado
earth ground earthing | Erdung Erde | terre masse | terra massa | tierra
efficiency | Wirkungsgrad Effizienz | efficacité rendement | efficienza rendimento |
    eficiencia rendimiento
electron | Elektron | électron | elettrone | electrón
empty emptied | leer geleert | vide vidé | vuoto svuotato | vacío vaciado
end ended finish | endete beendet Ende | fini terminé terminée fin | finito terminato
    fine | terminó acabó fin
energy | Energie | énergie | energia | energía
engineer | Ingenieur | ingénieur | ingegnere | ingeniero
entry | Eintrag | entrée | voce | entrada
error fault | Fehler Störung | erreur défaut panne | errore guasto | error fallo avería
exhaust | Abluft Abgas | échappement | scarico | escape
experiment | Experiment Versuch | expérience | esperimento | experimento
fail failed failure | ausgefallen ausfiel Ausfall versagt defekt | panne défaillance
    défaillant | guasto avaria | fallo falló avería
fall fell fallen | gefallen herabgefallen | tombé | caduto | caído cayó
fan ventilator | Lüfter Ventilator Gebläse | ventilateur | ventola ventilatore |
    ventilador
feedback | Rückkopplung Feedback | asservissement rétroaction | retroazione |
    realimentación
fibre fiber | Glasfaser Faser | fibre | fibra | fibra
field | Feld | champ | campo | campo
fill filled refill | gefüllt nachgefüllt befüllt | rempli remplissage | riempito
    riempimento | llenado relleno
filter | Filter | filtre | filtro | filtro
fin fins | Lamelle Rippe Kühlrippe | ailette | aletta | aleta
fire | Feuer Brand | feu incendie | fuoco incendio | fuego incendio
flange | Flansch | bride | flangia | brida
flood flooded | Überschwemmung überflutet | inondation inondé | allagamento allagato |
    inundación inundado
flow | Durchfluss Fluss | débit écoulement | flusso portata | flujo caudal
freeze froze frozen ice iced | gefroren eingefroren vereist Eis | gelé givre glace |
    gelato ghiacciato ghiaccio | congelado helado hielo
frequency | Frequenz | fréquence | frequenza | frecuencia
fuel | Brennstoff Kraftstoff | combustible carburant | combustibile | combustible
fuse | Sicherung Schmelzsicherung | fusible | fusibile | fusible
gallery | Galerie | galerie | galleria | galería
gap | Spalt Lücke | entrefer fente écart | fessura traferro gap | entrehierro hueco
    rendija
gas | Gas | gaz | gas | gas
gasket seal | Dichtung | joint | guarnizione | junta sello
gate | Tor Schleuse | portail barrière | cancello | compuerta
gauge | Messröhre Manometer Messgerät | jauge manomètre | misuratore manometro | medidor
    manómetro
gear gearbox | Getriebe Zahnrad | engrenage réducteur | ingranaggio riduttore |
    engranaje reductor
generator | Generator | générateur génératrice | generatore | generador
girder | Girder Träger | poutre | trave | viga
glass | Glas | verre | vetro | vidrio cristal
grease | Fett Schmierfett | graisse | grasso | grasa
gun | Kanone Elektronenkanone | canon | cannone | cañón
hall | Halle | hall salle | sala capannone | sala nave
heat heated heater heating | Heizung geheizt Wärme | chauffage chauffé chaleur |
    riscaldatore riscaldamento calore | calefactor calentador calentamiento calor
helium | Helium | hélium | elio | helio
high | hoch hohe | haut haute élevé | alto alta | alto alta
hole | Loch | trou | buco foro | agujero
hose | Schlauch | tuyau flexible | tubo manichetta | manguera
hour | Stunde | heure | ora | hora
humidity moisture | Feuchtigkeit Feuchte | humidité | umidità | humedad
hydraulic | hydraulisch Hydraulik | hydraulique | idraulico | hidráulico
injection | Injektion | injection | iniezione | inyección
injury injured hurt | verletzt Verletzung | blessé blessure | ferito ferita | herido
    herida
inspect inspection inspected | Inspektion geprüft kontrolliert | inspecté inspection
    contrôlé | ispezionato ispezione controllato | inspeccionado inspección revisado
install installed | eingebaut installiert Einbau | installé monté installation |
    installato montato installazione | instalado montado instalación
instrument | Instrument | instrument | strumento | instrumento
insulation | Isolierung Isolation | isolation isolant | isolamento | aislamiento
interlock | Verriegelung Interlock | verrouillage interverrouillage | interblocco |
    enclavamiento
jack | Heber Hebebock Stellfuß | vérin cric | martinetto cric | gato
jump jumped | sprang gesprungen Sprung | sauté saut sautait | saltato salto saltava |
    saltó salto
key | Schlüssel | clé clef | chiave | llave
kicker | Kicker | kicker | kicker | kicker
klystron | Klystron | klystron | klystron | klistrón
label | Schild Etikett Beschriftung | étiquette | etichetta | etiqueta
laboratory lab | Labor | laboratoire | laboratorio | laboratorio
ladder | Leiter | échelle | scala | escalera
lamp light | Lampe Licht | lampe lumière | lampada luce | lámpara luz
laser | Laser | laser | laser | láser
leak leaked leaking leakage | Leck undicht Leckage | fuite fuit fuyait | perdita | fuga
length | Länge | longueur | lunghezza | longitud
level | Pegel Füllstand Niveau Stand | niveau | livello | nivel
lifetime | Lebensdauer | vie | vita | vida
lift elevator | Aufzug Fahrstuhl | ascenseur | ascensore | ascensor
lightning thunderstorm storm | Blitz Gewitter Sturm | foudre orage tempête | fulmine
    temporale tempesta | rayo tormenta
limit | Grenze Grenzwert Limit | limite | limite | límite
line | Leitung Linie | ligne conduite | linea condotta | línea conducto
load | Last | charge | carico | carga
loose loosened | lose locker gelockert | desserré lâche | allentato lento | flojo suelto
loss lost lose | verloren Verlust | perdu perdue perte | perso persa perdita | perdido
    perdida pérdida
magnet | Magnet | aimant | magnete | imán
maintenance | Wartung Instandhaltung | maintenance entretien | manutenzione |
    mantenimiento
mask | Maske Blende | masque | maschera | máscara
measure measured measurement | gemessen Messung | mesuré mesure | misurato misura |
    medido medida medición
message | Nachricht Meldung | message | messaggio | mensaje
mirror | Spiegel | miroir | specchio | espejo
missing | fehlt fehlte fehlend | manquant manque | mancante manca | falta faltaba
modulator | Modulator | modulateur | modulatore | modulador
monitor | Monitor Überwachung | moniteur surveillance | monitor sorveglianza | monitor
    vigilancia
month | Monat | mois | mese | mes
motor engine | Motor | moteur | motore | motor
mouse mice rat rodent marten | Maus Mäuse Ratte Marder | souris rat rongeur martre |
    topo ratto roditore martora | ratón ratones rata roedor
move moved | bewegt verschoben verfahren | déplacé bougé mouvement | spostato mosso |
    movido desplazado
network | Netzwerk Netz | réseau | rete | red
night | Nacht | nuit | notte | noche
nitrogen | Stickstoff | azote | azoto | nitrógeno
noise noisy | Rauschen Lärm laut verrauscht | bruit bruyant | rumore rumoroso | ruido
    ruidoso
nozzle | Düse | buse | ugello | boquilla tobera
oil | Öl | huile | olio | aceite
open opened | offen geöffnet | ouvert ouverte ouvrir | aperto aperta aprire | abierto
    abierta abrió
operator | Operateur Bediener | opérateur | operatore | operador
operable operational ready | betriebsbereit betriebsfähig einsatzbereit |
    opérationnel prêt | operativo pronto | operativo listo
optics optical | Optik optisch | optique | ottica ottico | óptica óptico
orbit | Orbit Bahn | orbite | orbita | órbita
order ordered | bestellt Bestellung | commandé commande | ordinato ordine | pedido
    encargado
oscillation oscillate | Schwingung schwingt | oscillation oscille | oscillazione oscilla
    | oscilación oscila
osmosis | Osmose Umkehrosmose | osmose | osmosi | ósmosis
outage blackout | Stromausfall Netzausfall | coupure panne | interruzione blackout |
    apagón corte
oven | Ofen | four étuve | forno | horno
overheat overheated overheating | überhitzt Überhitzung | surchauffe surchauffé |
    surriscaldato surriscaldamento | sobrecalentado sobrecalentamiento
oxygen | Sauerstoff | oxygène | ossigeno | oxígeno
panel board | Verteiler Schalttafel Tafel Schaltschrank | tableau panneau coffret
    armoire | quadro pannello | cuadro panel tablero
part spare | Ersatzteil Teil | pièce rechange | ricambio pezzo | repuesto pieza recambio
percent percentage | Prozent Prozentsatz | pourcentage pourcent | percentuale percento |
    porcentaje
phase | Phase | phase | fase | fase
pipe tube | Rohr Leitung | tuyau conduite tube | tubo tubazione | tubo tubería
power | Leistung Strom | puissance alimentation | potenza alimentazione | potencia
    alimentación
pressure | Druck | pression | pressione | presión
probe sensor | Sonde Fühler Sensor | sonde capteur | sonda sensore | sonda sensor
procedure | Prozedur Anleitung Verfahren | procédure | procedura | procedimiento
proton | Proton | proton | protone | protón
pulse | Puls Impuls | impulsion | impulso | pulso impulso
pump | Pumpe | pompe | pompa | bomba
quadrupole | Quadrupol | quadrupôle | quadrupolo | cuadrupolo
rack cabinet | Schrank Rack Gestell | baie armoire rack | armadio rack | armario
    bastidor
radiation | Strahlung | rayonnement radiation | radiazione | radiación
rain | Regen | pluie | pioggia | lluvia
reactor | Reaktor | réacteur | reattore | reactor
reboot restart rebooted restarted | neugestartet Neustart | redémarré redémarrage |
    riavviato riavvio | reiniciado reinicio reinició
record recorded | aufgezeichnet Aufzeichnung | enregistré enregistrement | registrato
    registrazione | registrado registro
reflected | reflektiert reflektierte | réfléchi réfléchie | riflesso riflessa |
    reflejado reflejada
relay | Relais | relais | relè | relé
remove removed | entfernt ausgebaut Ausbau | enlevé démonté retiré | rimosso smontato
    tolto | retirado quitado desmontado
repair repaired | repariert Reparatur | réparé réparation | riparato riparazione |
    reparado reparación arreglado
replace replaced exchanged swapped | ersetzt getauscht ausgetauscht gewechselt Tausch |
    remplacé échangé changé remplacement | sostituito cambiato sostituzione | sustituido
    reemplazado cambiado cambio
reserve | Reserve | réserve | riserva | reserva
reset | zurückgesetzt quittiert Reset | réinitialisé réarmé | ripristinato resettato |
    restablecido rearmado
resin | Harz | résine | resina | resina
resistance resistor | Widerstand | résistance | resistenza | resistencia
ring | Ring | anneau | anello | anillo
river | Fluss | rivière fleuve | fiume | río
roof | Dach | toit toiture | tetto | tejado techo
room | Raum Zimmer | salle pièce local | stanza locale sala | sala cuarto habitación
rust corrosion | Rost Korrosion verrostet | rouille corrosion rouillé | ruggine
    corrosione | óxido corrosión oxidado
sample | Probe | échantillon | campione | muestra
scan | Scan Abtastung | balayage | scansione | barrido
search searched | gesucht Suche | cherché recherche | cercato ricerca | buscado búsqueda
sector | Sektor | secteur | settore | sector
septum | Septum | septum | setto | septum
server | Server | serveur | server | servidor
shorted | Kurzschluss | courtcircuit | cortocircuito | cortocircuito
shutdown | Abschaltung Stillstand Wartungszeit | arrêt | fermata spegnimento | parada
    apagado
signal | Signal | signal | segnale | señal
smoke | Rauch | fumée | fumo | humo
snow | Schnee | neige | neve | nieve
software firmware | Software Firmware | logiciel micrologiciel | software firmware |
    software firmware
source | Quelle | source | sorgente fonte | fuente
spark | Funke Funken | étincelle | scintilla | chispa
speed | Geschwindigkeit Drehzahl | vitesse | velocità | velocidad
spill spilled | verschüttet ausgelaufen | renversé déversé | versato fuoriuscito |
    derrame derramado
stable stability | stabil Stabilität | stable stabilité | stabile stabilità | estable
    estabilidad
start started | gestartet angelaufen | démarré démarrage | avviato avvio | arrancado
    arranque arrancó
steam | Dampf | vapeur | vapore | vapor
steel | Stahl | acier | acciaio | acero
stick stuck jam jammed | klemmt klemmte festgefahren hängt | coincé bloqué grippé |
    bloccato incastrato inceppato | atascado trabado
stop stopped | gestoppt angehalten stehen | arrêté arrêtée | fermato fermata arresto |
    parado parada paró detenido
storage | Speicher Lager | stockage | accumulo magazzino | almacenamiento
supply | Netzgerät Versorgung Stromversorgung | alimentation | alimentatore
    alimentazione | fuente alimentación
switch | Schalter | interrupteur commutateur | interruttore commutatore | interruptor
    conmutador
tape | Band Klebeband | bande ruban | nastro | cinta
target | Target Ziel | cible | bersaglio | blanco
technician | Techniker | technicien | tecnico | técnico
telescope | Teleskop | télescope | telescopio | telescopio
temperature | Temperatur | température | temperatura | temperatura
test tested | Test getestet Prüfung | essai test testé | prova test provato | prueba
    ensayo probado
thermocouple | Thermoelement | thermocouple | termocoppia | termopar
threshold | Schwelle | seuil | soglia | umbral
tight tightened | dicht angezogen festgezogen | étanche serré resserré | stretto serrato
    | apretado estanco
timing | Zeitsystem Timing | synchronisation chronologie | temporizzazione
    sincronizzazione | temporización sincronización
tool | Werkzeug | outil | attrezzo utensile | herramienta
torque | Drehmoment | couple | coppia | par
transformer | Transformator Trafo | transformateur | trasformatore | transformador
trip tripped | ausgelöst auslöste Auslösung ausgefallen ausfiel | déclenché
    déclenchement | scattato scatto intervenuto | disparo disparado disparó
tuner | Tuner Abstimmer | accordeur | accordatore sintonizzatore | sintonizador
tunnel | Tunnel | tunnel | tunnel galleria | túnel
turbine | Turbine | turbine | turbina | turbina
undulator | Undulator | onduleur | ondulatore | ondulador
unplug unplugged | abgesteckt ausgesteckt | débranché | staccato scollegato |
    desenchufado desconectado
unit | Block Einheit | tranche unité | unità blocco | unidad bloque
user | Nutzer Benutzer | utilisateur | utente | usuario
vacuum | Vakuum | vide | vuoto | vacío
value | Wert | valeur | valore | valor
valve | Ventil Schieber | vanne soupape | valvola | válvula
ventilation | Lüftung Belüftung | ventilation aération | ventilazione | ventilación
vented | belüftet geflutet | ventilé | ventilato | venteado
vibration | Vibration Schwingung | vibration | vibrazione | vibración
visitor | Besucher | visiteur | visitatore | visitante
voltage | Spannung | tension | tensione | tensión voltaje
wait waited | gewartet warten | attendu attendre | aspettato attesa | esperado esperar
wall | Wand Mauer | mur paroi | muro parete | muro pared
warning | Warnung | avertissement | avviso avvertimento | aviso advertencia
waste | Abfall | déchet | rifiuto scarto | residuo desecho
water | Wasser | eau | acqua | agua
wave | Welle | onde vague | onda | onda ola
wear worn | Verschleiß verschlissen abgenutzt | usure usé | usura usurato | desgaste
    desgastado
week | Woche | semaine | settimana | semana
weld welded | geschweißt Schweißnaht | soudé soudure | saldato saldatura | soldado
    soldadura
whole complete | ganz vollständig | entier complet | intero completo | entero completo
wheel | Rad | roue | ruota | rueda
wind | Wind | vent | vento | viento
winding | Wicklung | enroulement bobinage | avvolgimento | bobinado devanado
window | Fenster | fenêtre hublot | finestra | ventana
wire wiring | Draht Verdrahtung | fil câblage | filo cablaggio | hilo cableado
work worked job | Arbeit gearbeitet | travail travaillé | lavoro lavorato | trabajo
    trabajado
wrong wrongly | falsch | faux mauvais erroné | sbagliato errato | equivocado erróneo
    incorrecto
year | Jahr | an année | anno | año
yield | Ausbeute | rendement | resa rendimento | rendimiento
"""


# What stands between the words of a compound.
_JOINTS = ("", "s", "n", "en", "es", "er")
_LEAST_PART = 3


@functools.lru_cache(maxsize=2048)
def list_meanings(terms: tuple[tuple[str, str], ...], language: str) -> frozenset[str]:
    """Return the terms that in texts of a language mean what a word does.

    `terms`: the word's own, each behind the language that its question may be in.
    """
    rows = {row for one, term in terms for row in _rows_of(one).get(term, ())}
    return frozenset[str]().union(*(_terms_of(language)[row] for row in rows))


@functools.lru_cache(maxsize=2048)
def split_compound(word: str) -> tuple[str, str] | None:
    """Return the two words of the table that German joins in one; None: it does not.

    `Zugangstag`: the letters between them belong to none.
    """
    folded, known = fold_surface(word, "de"), _rows_of("de")
    for cut in range(_LEAST_PART, len(folded) - _LEAST_PART + 1):
        head, tail = folded[:cut], folded[cut:]
        if stem(tail, "de") not in known:
            continue
        for joint in _JOINTS:
            first = stem(head.removesuffix(joint), "de")
            if head.endswith(joint) and first in known:
                return first, stem(tail, "de")
    return None


@functools.cache
def _terms_of(language: str) -> tuple[frozenset[str], ...]:
    """Return the terms of each row in a language; of one that is unknown, in all."""
    place = _LANGUAGES.index(language) if language in _LANGUAGES else None
    spoken = language if place is not None else UNSTEMMED
    cells = [row.split("|") for row in _NEXT_ROW.split(_ROWS.strip())]
    return tuple(
        frozenset(
            stem(fold_surface(word, spoken), spoken)
            for cell in (row if place is None else row[place : place + 1])
            for word in cell.split()
        )
        for row in cells
    )


@functools.cache
def _rows_of(language: str) -> dict[str, tuple[int, ...]]:
    """Return by the terms of a language the rows that they stand in."""
    found: dict[str, tuple[int, ...]] = {}
    for row, terms in enumerate(_terms_of(language)):
        for term in terms:
            found[term] = (*found.get(term, ()), row)
    return found
