"""A model's sentence is held against its source in each of the five languages."""

from collections.abc import Iterator

import pytest

from tests.unit.answers.worded.test_check_sentence import flaw_in

# A language and what is written in it; under it what a model makes of that, behind the
# flaw of that, or a plus where it has none.
# Written on Monday, 2 March 2026, at 11:04 there.
DAYS = """
en The seal was replaced on Monday.
    number The seal was replaced on Tuesday.
en The seal was replaced on 4 June.
    + The seal was replaced on June 4th.
    number The seal was replaced on 5 June.
en Both seals were replaced on 4 and 5 June.
    + Seals were replaced on 5 June.
en The seal was replaced on 2026-06-04.
    + The seal was replaced on 4 June 2026.
    + Seal replaced on Thursday 4 June.
    number Seal replaced on 4 June 2025.
en The seal was replaced yesterday.
    + The seal was replaced on Sunday, 1 March.
    number The seal was replaced on Saturday.
en In March 3 seals were replaced.
    + 3 seals were replaced in March.
en The seal holds up to 3.5.
    + The seal holds up to 3.5 bar.
de Die Dichtung wurde am Montag ersetzt.
    number Die Dichtung wurde am Dienstag ersetzt.
    + Dichtung am Montagmorgen ersetzt.
de Die Dichtung wurde am 4. Juni ersetzt.
    number Dichtung am 4. Juli ersetzt.
de Die Dichtung wurde am 4.6. ersetzt.
    + Dichtung am 4. Juni ersetzt.
de Die Dichtung wurde ersetzt.
    + Am 2. März 2026 um 11:04 Uhr wurde die Dichtung ersetzt.
fr Le joint a été remplacé lundi.
    number Le joint a été remplacé mardi.
fr Le joint a été remplacé le 4 juin.
    number Joint remplacé le 4 juillet.
    + The joint was remplacé on 4 June.
fr Le joint a été remplacé.
    + Joint remplacé le 2 mars 2026.
it La guarnizione è stata sostituita lunedì.
    number Guarnizione sostituita martedì.
it La guarnizione è stata sostituita il 4 giugno.
    number Guarnizione sostituita il 4 luglio.
it La guarnizione non è mai stata sostituita.
    + La guarnizione non è mai sostituita.
it La guarnizione è stata sostituita.
    + Guarnizione sostituita il 2 marzo 2026 alle ore 11:04.
es La junta se cambió el lunes.
    number La junta se cambió el martes.
es La junta se cambió el 4 de junio.
    number La junta se cambió el 4 de julio.
es La junta se cambió.
    + La junta se cambió el 2 de marzo de 2026 a las 11:04.
"""
NUMBERS = """
en The water stood at minus five °C at night.
    + The water stood at -5 °C at night.
    number The water stood at 5 °C at night.
en The water stood at -5 °C at night.
    + The water stood at five °C below zero at night.
en The offset of the probe was set to -3.
    number The offset of the probe was set to 3.
en The offset of the probe was set to 3.
    number The offset of the probe was set to minus three.
de Das Wasser hatte nachts minus 5 °C.
    number Das Wasser hatte nachts 5 °C.
de Das Wasser hatte nachts -5 °C.
    + Das Wasser hatte nachts minus fünf °C.
fr L'eau était à moins 5 °C.
    number L'eau était à 5 °C.
fr L'eau était à -5 °C.
    + L'eau était à moins cinq °C.
fr L'eau était à au moins 5 °C.
    + L'eau était à au moins cinq °C.
it L'acqua era a meno cinque °C.
    + L'acqua era a -5 °C.
it L'acqua era a -5 °C.
    number L'acqua era a 5 °C.
es El agua estaba a menos 5 °C.
    number El agua estaba a 5 °C.
es El agua estaba a -5 °C.
    + El agua estaba a menos cinco °C.
en The pump tripped three times.
    + The pump tripped 3 times.
en The pump tripped twice.
    number The pump tripped three times.
en It took 25 minutes to pump down.
    + It took twenty-five minutes to pump down.
en It tripped due to heat.
    + It tripped due to heat.
de Die Pumpe fiel zweimal aus.
    number Die Pumpe fiel dreimal aus.
de Der Tank fasst 1.250 Liter.
    + The Tank fasst 1,250 Liter.
de Die Pumpe fiel um 11.30 Uhr aus.
    + Die Pumpe fiel um 11:30 Uhr aus.
fr La pompe a déclenché trois fois.
    + La pompe a déclenché 3 fois.
    number La pompe a déclenché quatre fois.
fr La pompe a déclenché à 9h30.
    + La pompe a déclenché à 9:30.
fr Le joint de la pompe est nouveau.
    + Le joint neuf de la pompe est nouveau.
fr Les neuf pompes ont déclenché.
    + Les 9 pompes ont déclenché.
it La pompa è scattata tre volte.
    + La pompa è scattata 3 volte.
    number La pompa è scattata due volte.
it La pompa è scattata sei volte.
    + La pompa è scattata 6 volte.
es La bomba se disparó once veces.
    + La bomba se disparó 11 veces.
es La bomba se disparó tres veces.
    number La bomba se disparó cuatro veces.
es Tardó treinta y cinco minutos en parar.
    + Tardó 35 minutos en parar.
en The pump was off for 5 min.
    + The pump was off for five minutes.
    number The pump was off for five hours.
de Die Pumpe stand 5 Minuten.
    number Die Pumpe stand 5 Stunden.
de Die Pumpe stand 2 h.
    + Die Pumpe stand zwei Stunden.
fr La pompe est restée arrêtée 5 minutes.
    number La pompe est restée arrêtée 5 heures.
it La pompa è rimasta ferma 5 minuti.
    number La pompa è rimasta ferma 5 ore.
es La bomba estuvo parada 5 minutos.
    number La bomba estuvo parada 5 horas.
"""
OPPOSITES = """
en The level of the tank rose above the limit.
    words The level of the tank fell below the limit.
en The heater of HC-2 is on again.
    words The heater of HC-2 is off again.
en The pressure stayed above 5 mbar.
    words The pressure stayed below five mbar.
en The pressure came close to 5 mbar.
    + With the door open the pressure came close to 5 mbar.
en The valve was opened and did not leak.
    words The valve was closed and did not leak.
en The heater was switched on, and so on.
    + The heater was switched on.
de Das Ventil VG-2 wurde geöffnet.
    words Das Ventil VG-2 wurde geschlossen.
    words Ventil VG-2 closed.
    + Ventil VG-2 ist offen.
de Die Pumpe ist gestartet.
    words Die Pumpe ist gestoppt.
de Der Druck steigt wieder.
    words Der Druck fällt wieder.
de Der Strom stieg, dann fiel die Pumpe aus.
    + Die Pumpe fiel aus, der Strom stieg.
de Der Druck blieb über 5 mbar.
    words Der Druck blieb unter 5 mbar.
fr La vanne VG-2 a été ouverte.
    words La vanne VG-2 a été fermée.
    + La vanne VG-2 est ouverte.
fr La pompe a démarré à midi.
    words La pompe s'est arrêtée à midi.
fr La pression monte encore.
    words La pression baisse encore.
fr Le courant reste à moins de 5 mA.
    words Le courant reste à plus de 5 mA.
it La valvola VG-2 è stata aperta.
    words La valvola VG-2 è stata chiusa.
it La valvola VG-2 era aperta.
    + Aperta la valvola VG-2.
it La pompa è accesa.
    words La pompa è spenta.
it La pressione è salita di nuovo.
    words La pressione è scesa di nuovo.
it La pompa si è fermata.
    + La pompa si è fermata.
es La válvula VG-2 fue abierta.
    words La válvula VG-2 fue cerrada.
es La válvula VG-2 se abrió.
    + La válvula VG-2 abierta, se abrió.
es La bomba está encendida.
    words La bomba está apagada.
es La presión subió de nuevo.
    words La presión bajó de nuevo.
"""
DENIALS = """
en RFC2 and RFC3 tripped on VAC.
    denial RFC2, RFC3: VAC n'a pas tripped.
    denial RFC2, RFC3: VAC non tripped.
en RFC2 never tripped on VAC.
    + RFC2: VAC non ha mai tripped.
en Neither RFC2 nor RFC3 tripped.
    + Weder RFC2 noch RFC3 tripped.
de Weder RFC2 noch RFC3 fiel aus.
    + Neither RFC2 nor RFC3 fiel aus.
de RFC2 fiel aus.
    denial RFC2 nunca fiel aus.
en Pump no. 3 was replaced at noon.
    + Pump 3 was replaced at noon.
en The PAS key of the hall was lost.
    + The key of the hall was lost.
en The pump and its seal were replaced.
    + Not only the pump was replaced, but its seal, too.
    denial The pump was not only replaced.
fr La pompe a été remplacée.
    denial La pompe n'a pas été remplacée.
fr La pompe ne fonctionne plus.
    denial La pompe fonctionne.
    + La pompe ne fonctionne pas.
fr La pompe tourne sans fuite.
    + La pompe tourne sans fuite.
it La pompa non è mai stata sostituita.
    + La pompa non è stata sostituita.
it La pompa RX-2 è stata sostituita.
    denial La pompa RX-2 nunca sostituita.
es La bomba no fue cambiada.
    denial La bomba fue cambiada.
es No se cambió nunca la bomba.
    + La bomba nunca se cambió.
es Sin embargo la bomba se cambió.
    + La bomba se cambió.
"""
JOINING = """
fr La pompe de la ligne est en panne.
    words Le chef de la ligne est en vacances.
    + La pompe de la ligne est en panne.
it La pompa della linea è ferma per la notte.
    words Il capo della linea è per la festa.
    + La pompa della linea è ferma per la notte.
es La bomba de la línea está parada por la noche.
    words El jefe de la línea está enfermo por la gripe.
    + La bomba de la línea está parada por la noche.
"""


def read_pairs(table: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield language, source, sentence and flaw of each."""
    language = written = ""
    for line in table.strip().splitlines():
        head, _, rest = line.strip().partition(" ")
        if line.startswith(" "):
            yield language, written, rest, head
        else:
            language, written = head, rest


@pytest.mark.requirement("I04")
@pytest.mark.parametrize(
    ("language", "written", "said", "wrong"),
    [
        pair
        for table in (DAYS, NUMBERS, OPPOSITES, DENIALS, JOINING)
        for pair in read_pairs(table)
    ],
)
def test_a_sentence_holds_where_it_says_no_other_thing_than_its_source(
    language: str, written: str, said: str, wrong: str
) -> None:
    assert (flaw_in(language, written, said) or "+") == wrong
