"""Names of things: PVs, devices, beamlines, document numbers, as one token each.

Every spelling of a device is one canonical token; its spellings and parts are idents,
by which it is found as well. PVs and document numbers keep their zeros: there a
near miss is another thing.
"""

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shared.times import date_tokens

# Substances are written as devices are: `CO2`, `Cs-137`.
_GASES = ("co2", "h2o", "sf6", "n2", "o2", "h2", "he3", "he4", "ln2")
# The nuclides that logbooks name, in letters of any case. What many name a pump or a
# valve by, such as C-14 and P-32, is left to them.
_NUCLIDES = {
    "am": "241",
    "co": "57 58 60",
    "cs": "134 137",
    "eu": "152 154",
    "ga": "67 68",
    "i": "123 125 129 131",
    "in": "111",
    "ir": "192",
    "kr": "85",
    "mo": "99",
    "pu": "238 239 241",
    "ra": "226 228",
    "rn": "222",
    "sr": "89 90",
    "tc": "99 99m",
    "th": "230 232",
    "u": "233 234 235 238",
    "xe": "133 135",
}
# By the terms that names of devices have.
_SUBSTANCES = frozenset(
    {
        *_GASES,
        *(one + mass for one, masses in _NUCLIDES.items() for mass in masses.split()),
    }
)
# Any other is told by a name written out, or a symbol as chemists write it, and by a
# mass that such an element has. In the order of their numbers.
_ELEMENTS = """
    hydrogen helium lithium beryllium boron carbon nitrogen oxygen fluorine neon sodium
    magnesium aluminum silicon phosphorus sulfur chlorine argon potassium calcium
    scandium titanium vanadium chromium manganese iron cobalt nickel copper zinc gallium
    germanium arsenic selenium bromine krypton rubidium strontium yttrium zirconium
    niobium molybdenum technetium ruthenium rhodium palladium silver cadmium indium tin
    antimony tellurium iodine xenon cesium barium lanthanum cerium praseodymium
    neodymium promethium samarium europium gadolinium terbium dysprosium holmium erbium
    thulium ytterbium lutetium hafnium tantalum tungsten rhenium osmium iridium platinum
    gold mercury thallium lead bismuth polonium astatine radon francium radium actinium
    thorium protactinium uranium neptunium plutonium americium curium berkelium
    californium
"""
_SYMBOLS = """
    H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga
    Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd
    Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra
    Ac Th Pa U Np Pu Am Cm Bk Cf
"""
_PROTONS = {
    # A tin is another thing.
    **{name: order for order, name in enumerate(_ELEMENTS.split(), 1) if name != "tin"},
    **{name: order for order, name in enumerate(_SYMBOLS.split(), 1) if len(name) > 1},
    "caesium": 55,
    "jod": 53,
    "kobalt": 27,
    "sulphur": 16,
    "uran": 92,
}
# Nucleons to a proton; hydrogen is left to pumps.
_LIGHTEST, _HEAVIEST = 1.7, 2.8

MAX_IDENT_CHARS = 128
# A name has few parts; a kilobyte of dashes is no name.
_MAX_PARTS = 12
_MAX_NAME_CHARS = 100
_MAX_PREFIX_LETTERS = 6

_UNITS = (
    "mA|uA|nA|A|kV|mV|V|GHz|MHz|kHz|Hz|kW|MW|mW|W|K|C|degC|deg|mm|um|nm|cm|km|m|"
    "ms|us|ns|s|sec|min|h|hrs?|hours?|days?|Torr|mTorr|mbar|bar|kPa|MPa|Pa|psi|"
    "GeV|MeV|keV|eV|pC|nC|dB|T|G|l|lpm|rpm|am|pm|AM|PM|times|counts"
)
_NO_NAMES = (
    "at|on|in|of|to|by|for|the|and|or|no|all|up|am|pm|is|was|be|as|an|if|it|we|"
    "after|from|with|till|until|about|over|only|than|then|took|last|next|near|"
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|"
    "owl|swing|shift|time|date|year|month|week|page|item|total|since|before|every|"
    "one|two|not|now|off|per|max|min|approx|circa|around|under|down|out|day|"
    "une|des|les|der|die|das|bei|von|um|mit|und|del|con|per|los|las|el|la|le|de"
)
# Two words that are one name: capitals and a number, or a beamline in any case.
_SPACED = re.compile(
    r"(?:(?i:BL|beamline) \d{1,3}(?:\.\d{1,3}){0,4}"
    rf"|[A-Z]{{2,6}} (?!{date_tokens.EARLY})(?:\d{{4}}-\d{{3,6}}|\d{{1,4}}))"
    # An apostrophe that counts as a letter begins a possessive, as the others do.
    rf"(?![^\W\u02bc]|:|[.,-]\w| ?(?:{_UNITS})\b| ?%)"
)
# A word before a number that may be a name with it.
_HEAD = re.compile(r"(?<![\w:.{}'\u2019-])(?:[A-Za-z]{2,6}|(?i:beamline))\Z")
_NOT_A_NAME = frozenset(_NO_NAMES.split("|"))
_BEAMLINE = re.compile(
    r"(?:bl|beamline)[ \u00a0_-]?(\d{1,3}(?:\.\d{1,3}){0,4})", re.IGNORECASE
)
_DEVICE = re.compile(
    r"([A-Za-z]{1,16})[ \u00a0_-]?(\d{1,9})([A-Za-z][A-Za-z0-9]{0,15})?"
)
# A number of four digits, and one of those that a clock may show.
_FOUR_DIGITS = re.compile(r"([A-Z]{3,6})[ -]?\d{4}")
_PADDED = re.compile(
    rf"(?<![\w:.{{}}-])(?P<head>[A-Z]{{3,6}}) (?P<number>0\d[0-5]\d)(?![^\W\u02bc]"
    rf"|[:.,-]\w| ?(?:{_UNITS})\b| ?%) ?(?P<after>[^ ]{{0,10}})"
)
_NUMBERED = re.compile(r"([a-z]{1,16})(\d{1,9})([a-z][a-z0-9]{0,15})?")
_DOCUMENT = re.compile(r"[A-Za-z][A-Za-z0-9]*+(?:[_-]++[A-Za-z0-9]++)+")
_PARTS = re.compile(r"[^:._{}\s\u00a0-]+")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_LOOSE_NUMBER = re.compile(r"\d{1,4}")
# Hyphens that a word processor makes of the one on the keys, and dashes that may stand
# for one: as in `HCM-03`, and not as between two names.
_ANY_HYPHEN = re.compile("[\u2010-\u2015\u2212]")
_HYPHEN = re.compile("(?<=[^\\W_])[\u2010\u2011](?=[^\\W_]|[*?])")
_DASHES = "\u2012-\u2015\u2212"
_NAME_PART = r"[A-Za-z0-9](?:[:._{}-]?[A-Za-z0-9]){0,40}"
_DASHED = re.compile(
    rf"(?<![\w:.{{}}-])[A-Za-z](?:[:._{{}}-]?[A-Za-z0-9]){{0,40}}"
    rf"(?:[{_DASHES}]{_NAME_PART}){{1,6}}"
    rf"(?![\w{_DASHES}]|[:.,-]\w| ?(?:{_UNITS})\b| ?%)"
)
_A_DASH = re.compile(f"[{_DASHES}]")


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name: its one token, and everything else that it is found by."""

    kind: str
    canonical: str
    idents: tuple[str, ...]


def identify(written: str) -> Identifier | None:
    """Return the name that a run of characters is, or None for plain words."""
    if not written.isascii() or len(written) > _MAX_NAME_CHARS:
        return None
    if written.isalpha() or written.isdigit():
        return None
    return _beamline(written) or _device(written) or _pv(written) or _document(written)


def normalise_hyphens(text: str) -> str:
    """Return a text with the hyphens of its names as keyboards have them.

    A sign stands for each sign: places stay the same.
    """
    if text.isascii() or not _ANY_HYPHEN.search(text):
        return text
    return _DASHED.sub(_as_named, _HYPHEN.sub("-", text))


def head_of_a_name(written: str, no_names: frozenset[str]) -> str | None:
    """Return the word at the end that may be one name with a number behind it."""
    match = _HEAD.search(written)
    if match is None:
        return None
    lower = match[0].lower()
    return None if lower in _NOT_A_NAME or lower in no_names else match[0]


def spaced_name_length(head: str, rest: str) -> int:
    """Return how long the name is that a word and what follows it begin with, or 0.

    `HCM 03` and `BL 5.0.2` are names; `RF 500 MHz` and `hcm 03` are not surely ones.
    """
    match = _SPACED.match(f"{head} {rest}")
    return match.end() if match else 0


def spaced_name(written: str) -> Identifier | None:
    """Return the name that is written with a blank in it."""
    return identify(written.replace(" ", "-") if "-" in written else written)


def loose_name(head: str, number: str) -> str | None:
    """Return the name that `hcm 03`, typed apart in small letters, may stand for."""
    if _LOOSE_NUMBER.fullmatch(number):
        return head.lower() + (number.lstrip("0") or "0")
    return None


def of_a_form(text: str, devices: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield where the likes of `BPM 0123` stand in a text that has a `BPM 1275`, too.

    Alone it might be a word and a time of day.
    """
    heads = {form[1] for one in devices if (form := _FOUR_DIGITS.fullmatch(one))}
    for match in _PADDED.finditer(text) if heads else ():
        head, number = match["head"], match["number"]
        if head in heads and not date_tokens.is_told(number, head, match["after"]):
            yield match.start(), match.end("number")


def _as_named(dashed: re.Match[str]) -> str:
    """Return `HCM-03` for what is one name with a dash in it, and others as they are.

    A word in small letters goes on behind a dash, and two devices are a range.
    """
    written = dashed[0]
    name = _A_DASH.sub("-", written)
    parts = _A_DASH.split(written)
    known = [_DEVICE.fullmatch(part) for part in parts]
    heads = [one[1] if one else None for one in known]
    if any(one and one == other for one, other in itertools.pairwise(heads)):
        return written
    if any(part.islower() and part.isalpha() for part in parts) or not identify(name):
        return written
    return name


def _beamline(written: str) -> Identifier | None:
    match = _BEAMLINE.fullmatch(written)
    if match is None:
        return None
    numbers = ".".join(part.lstrip("0") or "0" for part in match[1].split("."))
    found = {f"bl{match[1]}", f"bl{numbers}", match[1], numbers, "bl", "beamline"}
    return Identifier("beamline", f"bl{numbers}", _sorted(found))


def _device(written: str) -> Identifier | None:
    match = _DEVICE.fullmatch(written)
    if match is None:
        return None
    letters, number, rest = match[1].lower(), match[2], (match[3] or "").lower()
    is_word = len(letters) > _MAX_PREFIX_LETTERS and not match[1].isupper()
    if is_word and not written.isalnum():
        # `section-2` is a word and a number.
        return None
    short = number.lstrip("0") or "0"
    canonical = f"{letters}{short}{_ZEROS.sub('', rest)}"
    found = {
        canonical,
        f"{letters}{number}{rest}",
        letters,
        f"{letters}{short}",
        f"{number}{rest}",
        f"{short}{rest}",
        number,
        short,
    }
    is_substance = canonical in _SUBSTANCES or _is_nuclide(match[1], int(short), rest)
    kind = "substance" if is_substance else "device"
    return Identifier(kind, canonical, _sorted(found))


def _is_nuclide(element: str, mass: int, state: str) -> bool:
    """Tell whether this is an element and one of its masses, as in `Sm-153`."""
    named = element.lower() if len(element) > len("Sm") else element
    protons = _PROTONS.get(named, 0)
    return state in {"", "m"} and _LIGHTEST * protons < mass < _HEAVIEST * protons


def _pv(written: str) -> Identifier | None:
    head, colon, tail = written.partition(":")
    if not colon or not written[0].isalpha() or "'" in written:
        return None
    # `note:see` is prose; a PV has a number, a second colon, or capitals in front.
    if not (head.isupper() or ":" in tail or any(c.isdigit() for c in written)):
        return None
    canonical = written.lower()
    if head.lower() == "i":
        # In a tsvector `i:` marks an ident, and no ident begins with a colon.
        canonical = f"{head.lower()}::{tail.lower()}"
    return _parted("pv", canonical)


def _document(written: str) -> Identifier | None:
    if not _DOCUMENT.fullmatch(written) or not any(c.isdigit() for c in written):
        return None
    words = [part for part in _PARTS.findall(written) if part.isalpha()]
    if any(len(word) > _MAX_PREFIX_LETTERS and not word.isupper() for word in words):
        # `post-shutdown-2` is words and a number.
        return None
    return _parted("document", written.lower().replace("_", "-"))


def _parted(kind: str, canonical: str) -> Identifier | None:
    spans = [match.span() for match in _PARTS.finditer(canonical)]
    if len(spans) > _MAX_PARTS:
        return None
    found = {canonical}
    for start, end in spans:
        part = canonical[start:end]
        found |= {canonical[:end], part}
        numbered = _NUMBERED.fullmatch(part)
        if numbered:
            rest = _ZEROS.sub("", numbered[3] or "")
            found.add(f"{numbered[1]}{numbered[2].lstrip('0') or '0'}{rest}")
        elif part.isdigit():
            found.add(part.lstrip("0") or "0")
    return Identifier(kind, canonical, _sorted(found))


def _sorted(found: set[str]) -> tuple[str, ...]:
    return tuple(sorted(one[:MAX_IDENT_CHARS] for one in found if one))
