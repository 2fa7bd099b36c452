"""Which sentences answer a question, by its kind, in each of the five languages."""

from collections.abc import Iterator

import pytest

from shared.answers.question.question import read_part
from shared.text.facility.facility import PLAIN

# A question; under it sentences, each behind its language and a plus where it is such
# an answer.
PLANS = """
When was the pump replaced?
    en + The pump was replaced on Tuesday.
    en + The pump was replaced on Tuesday as planned.
    en - The pump will be replaced on Tuesday.
    en - The pump is scheduled to be replaced on Tuesday.
    en - We plan to replace the pump on Tuesday.
    en - Replacement of the pump is planned for Tuesday.
When will the pump be replaced?
    en + The pump will be replaced on Tuesday.
Who replaced the pump?
    en - Anna Novak will replace the pump.
    en + Anna Novak replaced the pump, we will test it.
Wann wurde die Pumpe repariert?
    de + Die Pumpe wurde gestern repariert.
    de + Die Pumpe wurde gestern wie geplant repariert.
    de - Die Pumpe wird am Montag repariert.
    de - Sie soll am Montag repariert werden, sobald Zeit ist.
    de - Die Reparatur der Pumpe ist für Montag geplant.
Wann wird die Pumpe repariert?
    de + Die Pumpe wird am Montag repariert.
Quand la pompe a-t-elle été remplacée ?
    fr + La pompe a été remplacée mardi.
    fr - La pompe sera remplacée mardi.
    fr - La pompe doit être remplacée mardi.
Quand la pompe sera-t-elle remplacée ?
    fr + La pompe sera remplacée mardi.
Qui a remplacé la pompe ?
    fr - Le technicien remplacera la pompe.
    fr - Le technicien va remplacer la pompe.
Quando è stata sostituita la pompa?
    it + La pompa è stata sostituita lunedì.
    it - La pompa verrà sostituita martedì.
    it - La pompa deve essere sostituita lunedì.
    it - Pompa da sostituire lunedì.
Quando verrà sostituita la pompa?
    it + La pompa verrà sostituita martedì.
Chi ha sostituito la pompa?
    it - Il tecnico sostituirà la pompa.
¿Cuándo se cambió la bomba?
    es + La bomba se cambió el martes.
    es - La bomba se cambiará el martes.
    es - La bomba debe cambiarse el martes.
    es - Vamos a cambiar la bomba el martes.
¿Cuándo se cambiará la bomba?
    es + La bomba se cambiará el martes.
"""
SUPPOSED = """
Why did the valve close?
    en + I think it simply fell shut when the air sagged.
    en + Probably a cracked O ring.
    en - 01:33 full loss.
    de + Vermutlich fehlte die Druckluft.
    fr + Sans doute une fuite d'air.
    it + Probabilmente mancava l'aria.
    es + Probablemente faltaba el aire.
    es - Cerrada a las dos.
"""
MOMENTS = """
When did the valve close?
    en + The valve closed during the owl shift.
    en + It closes tomorrow.
    en - The valve closed at 5.25 mbar.
    en - The valve of 5.0.2 closed.
    en + At 1220, operators saw that the valve had closed.
    en + The valve closed at 0132 EDT and at 1401 on Monday.
    en + The alarm occurred near town at 1245 [CDT] and timed out.
    en - The valve closed at 1220 psig.
    en - At 1000, 1100 and 1200 rpm the valve closed.
    en - The pressure stood at 1220, and the valve closed.
Wann schloss das Ventil?
    de + Das Ventil schloss um halb zehn.
    de + Das Ventil schloss gegen 10.30 Uhr.
    de + Das Ventil schloss in der Frühschicht.
    de + Das Ventil schließt morgen.
    de - Das Ventil schließt alle 10 Minuten.
    de - Das Ventil hier ist zu.
Quand la vanne s'est-elle fermée ?
    fr + La vanne s'est fermée vers 10 h.
    fr - La vanne s'est fermée à 10 bar.
    fr - La vanne 10 s'est fermée.
    fr + On la ferme demain.
Quando si è chiusa la valvola?
    it + La valvola si è chiusa alle 10.
    it + La valvola si è chiusa nella notte.
    it - La valvola 10 si è chiusa.
¿Cuándo se cerró la válvula?
    es + La válvula se cerró a las 10.
    es + La válvula se cierra mañana.
    es - La válvula 10 se cerró.
"""
SPANS = """
How long was the beam off?
    en + The beam was off from 10:00 to 12:00.
    en + The beam was off 10:00-12:00.
    en + The beam was off between 10 and 12:30.
    en + The beam was off from Monday to Thursday.
    en + The beam was off the whole morning.
    en - The beam was off at 10:00 and 12:30.
    en - The beam went from 10 to 12 mA.
Wie lange war der Strahl weg?
    de + Der Strahl war von 10 bis 12 Uhr weg.
    de + Der Strahl war vom 3. bis 5. Juni weg.
    de + Der Strahl war die ganze Nacht weg.
    de + Der Strahl war zwei Stunden weg.
    de - Der Strahl war um 10 Uhr weg.
    de - Der Strahl ging von 10 bis 12 mA.
Combien de temps le faisceau a-t-il été coupé ?
    fr + Il a été coupé de 10h à 12h.
    fr + Il a été coupé de 10 à 12 h.
    fr + Coupé pendant deux heures.
    fr + Il a été coupé toute la nuit.
    fr - Il a été coupé à 10h.
    fr - Il a été coupé vers 10h30.
Quanto tempo è mancato il fascio?
    it + Il fascio è mancato dalle 10 alle 12.
    it + Il fascio è mancato per due ore.
    it + Il fascio è mancato dal 3 al 5 giugno.
    it - Il fascio è mancato alle 10.
¿Cuánto tiempo faltó el haz?
    es + El haz faltó de 10 a 12 h.
    es + El haz faltó de las 10 a las 12.
    es + El haz faltó dos horas.
    es - El haz faltó a las 10 h.
"""
PLACES = """
Where is the leak?
    en + The leak is at the flange of cell 4.
    en + At noon we found it behind the rack.
    en - The leak came at noon.
    en - The leak was found in the morning.
    en - The leak was found on Monday at 5 mbar.
    en - The leak was found at last, in two hours.
Wo ist das Leck?
    de + Das Leck ist am Flansch der Zelle 4.
    de - Das Leck kam am Montag.
    de - Das Leck wurde im März gefunden.
    de - Das Leck kam bei 5 mbar.
Où est la fuite ?
    fr + La fuite est dans la salle 4.
    fr - La fuite a commencé à 10h.
    fr - La fuite a commencé en mars.
Dove è la perdita?
    it + La perdita è nella sala pompe.
    it - La perdita è iniziata alle 10.
¿Dónde está la fuga?
    es + La fuga está en la sala 4.
    es - La fuga empezó en marzo.
"""
PEOPLE = """
Who put out the fire?
    en + The fire was put out by the plant fire department.
    de + Die Feuerwehr hat den Brand gelöscht.
Who replaced the pump?
    en - They replaced the pump.
    en - It had replaced the pump.
    en + The pump was replaced by the vacuum group.
    en + The pump was replaced by Ruiz.
    en - The pump was replaced by Monday.
    en - The pump was replaced by March.
    en + The pump was replaced by site personnel.
    en - Interlock of the personnel safety system, pump replaced.
    en + Electricians replaced the pump.
Wer hat die Pumpe ersetzt?
    de + Die Vakuumgruppe hat die Pumpe ersetzt.
    de + Die Pumpe wurde von Peter Meier ersetzt.
    de - Die Pumpe wurde von Hand ersetzt.
Qui a remplacé la pompe ?
    fr + La pompe a été remplacée par Dupont.
    fr - La pompe a été remplacée par erreur.
Chi ha sostituito la pompa?
    it + La pompa è stata sostituita da Rossi.
    it - La pompa è stata sostituita da ieri.
¿Quién cambió la bomba?
    es + La bomba fue cambiada por García.
    es - La bomba fue cambiada por error.
"""
# Who writes so has done it; a table as above.
OWN_DEEDS = """
Who moved the mask?
    en + My fault in part: I moved the mask half a millimetre.
    en + We've now moved the mask.
    en + Yesterday I moved the mask, fixed the hutch and left.
    en + I opened the hutch, then moved the mask.
    en + The mask was moved by me.
    en + Moved the mask half a millimetre.
    en - Move the mask half a millimetre.
    en - Moved mask found at noon.
    en - I will move the mask.
    en - We never moved the mask.
    en - I think the crew opened the hutch and moved the mask.
    en - I saw that somebody moved the mask.
    en - Hugo Moreau: I moved the mask.
    en - He said "I moved the mask" at noon.
    en - > I moved the mask
    en - Should I have moved the mask?
    de + Habe die Blende heute verschoben.
Wer hat die Pumpe getauscht?
    de + Heute haben wir die Pumpe getauscht.
    de + Ich tauschte die Pumpe.
    de + Die Pumpe wurde von mir getauscht.
    de - Ich habe die Pumpe nicht getauscht.
    de - Wir haben gesehen, dass jemand die Pumpe getauscht hat.
    fr + J'ai déjà remplacé la pompe.
    en + We swapped the pump.
Qui a remplacé la pompe ?
    fr + J'ai fermé la vanne et remplacé la pompe.
    fr + Nous avons remplacé la pompe.
    fr - Je n'ai pas remplacé la pompe.
    fr - J'ai vu que la pompe a été remplacée.
Chi ha sostituito la pompa?
    it + Ho sostituito la pompa.
    it + Abbiamo appena sostituito la pompa.
    it - Non abbiamo sostituito la pompa.
    it - Hanno sostituito la pompa.
¿Quién cambió la bomba?
    es + He cambiado la bomba.
    es + Ayer cambié la bomba.
    es + Hemos parado y cambiado la bomba.
    es - No hemos cambiado la bomba.
    es - Cambió la bomba.
    en - He changed the pump.
"""
COUNTS = """
How many pumps failed?
    en + Three pumps failed.
    en - Pump 3 failed.
    en + Twenty-five pumps failed.
    en + TWELVE (12) pumps failed.
Wie viele Pumpen fielen aus?
    de + Elf Pumpen fielen aus.
    de - Pumpe 3 fiel aus.
Wie oft fiel die Pumpe aus?
    de + Die Pumpe fiel fünfmal aus.
    de - Die Pumpe fiel um 3 Uhr aus.
Combien de pompes sont en panne ?
    fr + Trois pompes sont en panne.
    fr - La pompe 3 est en panne.
    fr - Le 3 juin pompes en panne.
    fr - Après 20 heures pompes en panne.
Combien de fois a-t-elle déclenché ?
    fr + Elle a déclenché trois fois.
    fr - Elle a déclenché à 3h.
Quante pompe sono guaste?
    it + Sei pompe sono guaste.
    it - La pompa 3 è guasta.
Quante volte è scattata la pompa?
    it + La pompa è scattata tre volte.
¿Cuántas bombas fallaron?
    es + Fallaron once bombas.
    es - Falló la bomba 3.
    es - Tras 20 minutos bombas paradas.
¿Cuántas veces se disparó la bomba?
    es + La bomba se disparó dos veces.
Combien d'hélium a été perdu ?
    fr + Environ 40 litres d'hélium perdus.
¿Cuándo llegará el motor?
    es + El motor llegará la semana próxima.
    es + El motor llegará el mes que viene.
"""


def read_cases(table: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield question, language, sentence and whether it answers."""
    question = ""
    for line in table.strip().splitlines():
        if line.startswith(" "):
            language, sign, sentence = line.split(maxsplit=2)
            yield question, language, sentence, sign == "+"
        else:
            question = line


@pytest.mark.parametrize(
    ("question", "language", "sentence", "fits"),
    [
        case
        for table in (PLANS, SUPPOSED, MOMENTS, SPANS, PLACES, PEOPLE, COUNTS)
        for case in read_cases(table)
    ],
)
def test_a_sentence_answers_a_question_of_its_kind(
    question: str, language: str, sentence: str, *, fits: bool
) -> None:
    asked = read_part(question, question, PLAIN)
    assert asked.is_answered_by(sentence, language, frozenset()) is fits


@pytest.mark.parametrize(
    ("question", "language", "sentence", "fits"), [*read_cases(OWN_DEEDS)]
)
def test_who_writes_in_the_first_person_did_it(
    question: str, language: str, sentence: str, *, fits: bool
) -> None:
    asked = read_part(question, question, PLAIN)
    assert asked.is_done_by_author(sentence, language) is fits
