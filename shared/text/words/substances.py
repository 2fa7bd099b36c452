"""Substances that are written as devices are: `CO2`, `SF6`, `Cs-137`."""

from __future__ import annotations

_GASES = ("co2", "h2o", "sf6", "n2", "o2", "h2", "he3", "he4", "ln2")
# Those that logbooks name, by element. What many name a pump or a valve by, such as
# C-14 and P-32, is left to them.
_NUCLIDES = {
    "am americium": "241",
    "co cobalt": "57 58 60",
    "cs cesium caesium": "134 137",
    "eu europium": "152 154",
    "ga gallium": "67 68",
    "i iodine": "123 125 129 131",
    "in indium": "111",
    "ir iridium": "192",
    "kr krypton": "85",
    "mo molybdenum": "99",
    "pu plutonium": "238 239 241",
    "ra radium": "226 228",
    "rn radon": "222",
    "sr strontium": "89 90",
    "tc technetium": "99 99m",
    "th thorium": "230 232",
    "u uranium": "233 234 235 238",
    "xe xenon": "133 135",
}
# By the terms that names of devices have.
SUBSTANCES = frozenset(
    {
        *_GASES,
        *(
            element + mass
            for elements, masses in _NUCLIDES.items()
            for element in elements.split()
            for mass in masses.split()
        ),
    }
)
