"""Questions and whether they are for the logbook: those of the reference, and ours."""

import pytest

# The wording of the reference, and what each comes to.
GOLDEN = [
    pytest.param(
        "What happened last time the injector failed?",
        True,
        marks=pytest.mark.requirement("S2-32"),
    ),
    pytest.param(
        "Find entries about BTS chicane alignment",
        True,
        marks=pytest.mark.requirement("S2-33"),
    ),
    pytest.param(
        "What is the current beam energy?",
        False,
        marks=pytest.mark.requirement("S2-34"),
    ),
    pytest.param(
        "How do we typically handle RF trips?",
        True,
        marks=pytest.mark.requirement("S2-35"),
    ),
    pytest.param(
        "Set the quadrupole current to 5A",
        False,
        marks=pytest.mark.requirement("S2-36"),
    ),
    pytest.param(
        "Show me beam loss events from January",
        True,
        marks=pytest.mark.requirement("S2-37"),
    ),
    pytest.param(
        "What did the night shift report about the vacuum issue?",
        True,
        marks=pytest.mark.requirement("S2-38"),
    ),
    pytest.param(
        "How does the accelerator work?", False, marks=pytest.mark.requirement("S2-39")
    ),
]
TRUE = (
    "Why did gate valve 8 close with beam in the machine?",
    "When was klystron 2 replaced?",
    "Who bridged the tilt switch of ID07?",
    "rf trip last night",
    "Has the cryoplant stopped before?",
    "What was the beam current when the vacuum burst happened?",
    "Summarize the last shift",
    "Write a summary of what happened on the night shift",
    "Any notes on the BPM firmware update?",
    "kicker 3 late",
    "How was the ground fault of the sextupole supply found?",
    "What is the recommended minimum gap of ID05?",
    "Explain why the beam was lost on Tuesday",
    "Did anyone change the set point of the gun heater in February?",
    "show entries by Ruiz about arcs",
    "How long does the electron gun need after a heater dropout?",
    "Warum klemmt der Durchflusswächter FS-27?",
    "Wann wurde die Sperre LOTO-2026-0117 entfernt?",
    "What must be read before resetting a top-up interlock?",
    "Is there a procedure for restarting the cold box?",
    "Which problems recur with RFC2?",
    "set screw of the tuner",
    "Can you find the entry on the mains dip?",
    "What did we do about the water leak at sector 9?",
)
FALSE = (
    "What is the beam energy right now?",
    "How much current is stored at the moment?",
    "Is the beam on?",
    "Is gate valve 8 open now?",
    "Show me the vacuum pressure currently",
    "Turn on the sextupoles",
    "Please open the front end shutter",
    "Could you ramp the dipole current to 120 A?",
    "Reset the RF interlock",
    "Move the collimator by 2 mm",
    "What is a quadrupole?",
    "How does a free electron laser work?",
    "What is synchrotron radiation?",
    "What's the difference between a cyclotron and a synchrotron?",
    "Explain the physics of beam cooling",
    "What does RF stand for?",
    "Write a poem about electrons",
    "Translate this sentence into German",
    "Calculate the Larmor radius at 3 GeV",
    "Plot the temperature of the last ten minutes",
    "What is the weather forecast for tomorrow?",
    "Schalte die Pumpe ein",
)
