"""Systems and devices of a facility: a table of names, and where a text names them."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shared.text.facility import facility_lists
from shared.text.facts import Fact, make_key, scan_words

DEVICE, SYSTEM = "device", "system"
KINDS = (DEVICE, SYSTEM)
COLUMNS = ("name", "kind", "system", "aliases")

MAX_NAME_CHARS, MAX_WORDS = 100, 12
# A text of nothing but names does not fill the entry with them.
MAX_FOUND = 256
_READ_AHEAD = 4096

# What may stand between two words of a name; a new sentence is none of it.
_GAP = re.compile(r"\s{0,2}|[-_:./#{}]{1,2}|\s[-/&]\s", re.ASCII)
# `3.5` is not the third, and `HCM03A` not HCM03.
_GOES_ON = re.compile(r"[^\W_]|[.,]\d")
_OF_A_NAME = re.compile(r"[^\W_][:_{}-]\Z")
_NAME_GOES_ON = re.compile(r"[:_{}-][^\W_]")
# As devices are compared: `hcm 3`.
_NUMBERED = re.compile(r"(?P<head>.*[^\W\d_] ?)(?P<number>\d{1,9})", re.DOTALL)
# An abbreviation so short is a word, unless it is written as it stands in the table.
_SHORT = 3


@dataclass(frozen=True, slots=True)
class Thing:
    """A system or a device, as the facility calls it."""

    kind: str
    name: str
    # The system that a device belongs to.
    system: str | None = None
    aliases: tuple[str, ...] = ()

    def fact(self, how: str, start: int, end: int) -> Fact:
        """Return that a text names it, there."""
        return Fact(self.kind, self.name, how, start, end, self.aliases)


class _Form(NamedTuple):
    """One way to write a thing."""

    words: tuple[str, ...]
    thing: Thing
    written: str
    is_alias: bool


class Register:
    """All things of a facility, found in a text by any of their names."""

    def __init__(self, things: Sequence[Thing]) -> None:
        self.things = tuple(things)
        self._by_first: dict[str, list[_Form]] = {}
        self._systems = {
            make_key(SYSTEM, one.name): one for one in things if one.kind == SYSTEM
        }
        self._devices = {
            make_key(DEVICE, one.name): one.name for one in things if one.kind == DEVICE
        }
        for thing in things:
            for number, written in enumerate((thing.name, *thing.aliases)):
                read = tuple(word for word, _, _ in scan_words(written))
                if read:
                    form = _Form(read, thing, written, number > 0)
                    self._by_first.setdefault(read[0], []).append(form)
        for forms in self._by_first.values():
            # The longest name first; of equal ones a name before an alias.
            forms.sort(key=lambda form: (-len(form.words), form.is_alias))

    def __bool__(self) -> bool:
        """Tell whether any thing is registered."""
        return bool(self.things)

    def next_to(self, device: str) -> tuple[str, ...]:
        """Return the devices whose number is one less or more, where there are such."""
        numbered = _NUMBERED.fullmatch(make_key(DEVICE, device))
        if numbered is None:
            return ()
        number = int(numbered["number"])
        keys = (f"{numbered['head']}{one}" for one in (number - 1, number + 1))
        return tuple(self._devices[one] for one in keys if one in self._devices)

    def found(self, text: str) -> Iterator[Fact]:
        """Yield what a text names, in order; none runs into another.

        A device brings its system along.
        """
        left = iter(scan_words(text) if self.things else ())
        read = list(itertools.islice(left, _READ_AHEAD))
        place, count = 0, 0
        while place < len(read) and count < MAX_FOUND:
            if len(read) - place <= MAX_WORDS:
                # So much of a text of megabytes is held at once.
                read = [*read[place:], *itertools.islice(left, _READ_AHEAD)]
                place = 0
            form = self._at(read, place, text)
            if form is None:
                place += 1
                continue
            last = place + len(form.words)
            start, end = read[place][1], read[last - 1][2]
            yield form.thing.fact(_how(form, text, start, end), start, end)
            if form.thing.system is not None:
                yield self._system(form.thing.system)
            count += 1
            place = last

    def _system(self, name: str) -> Fact:
        known = self._systems.get(make_key(SYSTEM, name))
        aliases = known.aliases if known else ()
        return Fact(SYSTEM, known.name if known else name, "part", aliases=aliases)

    def _at(
        self, read: list[tuple[str, int, int]], place: int, text: str
    ) -> _Form | None:
        for form in self._by_first.get(read[place][0], ()):
            last = place + len(form.words)
            if tuple(word for word, _, _ in read[place:last]) != form.words:
                continue
            spans = read[place:last]
            start, end = spans[0][1], spans[-1][2]
            gaps = (text[one[2] : two[1]] for one, two in itertools.pairwise(spans))
            if (
                all(_GAP.fullmatch(gap) for gap in gaps)
                and not _GOES_ON.match(text, end)
                and not (start and text[start - 1].isalnum())
                and _is_written(form, text[start:end])
            ):
                return form
        return None


def _is_written(form: _Form, found: str) -> bool:
    """Tell whether a short abbreviation is in capitals: `ID` is a device, `id` none."""
    short = len(form.words) == 1 and len(form.written) <= _SHORT
    return not (short and form.written.isupper()) or found == form.written


def _how(form: _Form, text: str, start: int, end: int) -> str:
    if _OF_A_NAME.search(text, max(0, start - 2), start) or _NAME_GOES_ON.match(
        text, end
    ):
        return "within"
    return "alias" if form.is_alias else "name"


NOTHING = Register(())


def parse_devices(table: str) -> Register:
    """Return the things of a table (CSV), or raise ValueError with the line at fault.

    A device is what `kind` says nothing else of.
    """
    known: set[tuple[str, str]] = set()

    def thing(row: dict[str, str]) -> Thing:
        one = _thing(row)
        identity = (one.kind, make_key(one.kind, one.name))
        if identity in known:
            raise ValueError(f"{one.name!r} is there twice")
        known.add(identity)
        return one

    return Register(facility_lists.rows(table, COLUMNS, thing))


def _thing(row: dict[str, str]) -> Thing:
    kind = row["kind"].lower() or DEVICE
    if kind not in KINDS:
        raise ValueError(f"a kind is {' or '.join(KINDS)}, not {kind!r}")
    aliases = facility_lists.listed(row["aliases"])
    for written in (row["name"], *aliases):
        if len(written) > MAX_NAME_CHARS or len(list(scan_words(written))) > MAX_WORDS:
            raise ValueError(f"a name has at most {MAX_WORDS} words: {written[:40]!r}")
    return Thing(kind, row["name"], row["system"] or None, aliases)
