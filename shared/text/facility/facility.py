"""What one facility says of its own words: names, abbreviations, compounds."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shared.errors import ConfigurationError
from shared.text.facility import devices, incident_words, people
from shared.text.facility.devices import NOTHING, Register
from shared.text.facility.people import NOBODY, People
from shared.text.words.compounds import PARTS
from shared.text.words.folding import GERMAN, MAX_TOKEN_CHARS, fold, fold_surface
from shared.times import shifts
from shared.times.operating_periods import Period
from shared.times.shifts import NO_SHIFTS, Shift, ShiftPlan

_MAX_FILE_BYTES = 1_000_000
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_SETTING = "analyser.facility_file"
# Bits of a fingerprint: with the analyser's version it must fit into an integer.
_FINGERPRINT_BITS = 23

T = TypeVar("T")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NamePattern(_Strict):
    """How one kind of name is written; each match is one token."""

    kind: str = Field(pattern=r"^[a-z][a-z_]{0,31}$")
    pattern: str = Field(min_length=1, max_length=300)
    # `RSR 0312` is then `RSR 312`.
    ignore_zeros: bool = False

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        try:
            compiled = re.compile(self.pattern, re.IGNORECASE)
        except re.error as exc:
            message = f"{self.pattern!r} is no regular expression: {exc}"
            raise ValueError(message) from exc
        if compiled.match(""):
            message = f"{self.pattern!r} matches nothing at all, and so everywhere"
            raise ValueError(message)
        return self


Phrase = Annotated[str, Field(pattern=r"^\w[\w *.'-]{1,60}$")]


class _File(_Strict):
    names: tuple[NamePattern, ...] = Field((), max_length=100)
    not_names: tuple[str, ...] = ()
    compound_parts: tuple[str, ...] = ()
    glossary: tuple[tuple[str, ...], ...] = ()
    # Tables beside the file.
    things: str | None = None
    people: str | None = None
    shifts: tuple[Shift, ...] = Field((), max_length=24)
    calendar: tuple[Period, ...] = Field((), max_length=1000)
    # By what they say, as the table of `incident_words` has them.
    incidents: dict[incident_words.Kind, tuple[Phrase, ...]] = {}


class Name(NamedTuple):
    """A name that one of the facility's patterns has found."""

    kind: str
    canonical: str
    start: int
    end: int
    idents: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Facility:
    """The facility's own words; made once, and compared by identity."""

    names: tuple[tuple[NamePattern, re.Pattern[str]], ...] = ()
    # Words that are no name with the number behind them.
    no_names: frozenset[str] = frozenset()
    # What German compounds are made of.
    parts: frozenset[str] = PARTS
    # Groups of forms that mean the same.
    glossary: tuple[tuple[str, ...], ...] = ()
    # A hash of all that changes the terms of a text; 0 without a file.
    fingerprint: int = 0
    # Systems and devices, who writes, and who works when.
    things: Register = NOTHING
    people: People = NOBODY
    shifts: ShiftPlan = NO_SHIFTS
    # Runs and shutdowns, for questions alone.
    calendar: tuple[Period, ...] = ()
    # A hash of all that changes the facts of an entry; 0 without a file.
    facts_fingerprint: int = 0
    # A hash of the whole file; 0 without a file.
    whole_fingerprint: int = 0
    # What tells of incidents, beside the words that all use; read with each thread.
    incidents: incident_words.Own = ()
    # Itself as its file has it, where more was approved than stands there.
    by_file: Facility | None = None

    def named(self, text: str) -> Iterator[Name]:
        """Yield the names that patterns find, in order; none runs into another."""
        found = [
            (match.start(), -match.end(), number, match)
            for number, (_, compiled) in enumerate(self.names)
            for match in compiled.finditer(text)
            if match.end() > match.start()
        ]
        place = 0
        for start, _, number, match in sorted(found, key=lambda one: one[:3]):
            name = _name(self.names[number][0], match)
            if start >= place and name.canonical:
                yield name
                place = match.end()


# A facility without words of its own.
PLAIN = Facility()


def load(path: Path | None, zone: str = "UTC") -> Facility:
    """Return the facility that a file describes, or refuse the file and say where.

    `zone` is that of the facility's clock, by which shifts change.
    """
    if path is None:
        return PLAIN
    path = path.expanduser()
    try:
        given = yaml.safe_load(_read(path))
    except yaml.YAMLError as exc:
        raise _refused(path, str(exc)) from exc
    try:
        said = _File.model_validate({} if given is None else given)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = first["msg"].removeprefix("Value error, ")
        raise _refused(path, f"{where}: {reason}" if where else reason) from exc
    return _facility(said, path, zone)


def _facility(said: _File, path: Path, zone: str) -> Facility:
    about_facts = {"things", "people", "shifts"}
    no_terms = {"glossary", "calendar", "incidents", *about_facts}
    own_words = said.model_dump(exclude=no_terms)
    text = json.dumps(own_words, sort_keys=True)
    fingerprint = zlib.crc32(text.encode()) % (1 << _FINGERPRINT_BITS)
    register, register_text = _table(path, said.things, devices.parse_devices)
    staff, staff_text = _table(path, said.people, people.parse_people)
    try:
        turns = shifts.plan(said.shifts, zone)
    except ValueError as exc:
        raise _refused(path, f"shifts: {exc}") from exc
    known = repr((register_text, staff_text, turns))
    # No stage reads those of incidents.
    whole = said.model_dump_json(exclude={"incidents"})
    return Facility(
        names=tuple((one, _compiled(one)) for one in said.names),
        no_names=frozenset(word.lower() for word in said.not_names),
        parts=PARTS | {fold_surface(one, GERMAN) for one in said.compound_parts},
        glossary=said.glossary,
        fingerprint=fingerprint or 1,
        things=register or NOTHING,
        people=staff or NOBODY,
        shifts=turns,
        calendar=said.calendar,
        facts_fingerprint=zlib.crc32(known.encode()) or 1,
        whole_fingerprint=zlib.crc32(f"{whole}{known}".encode()) or 1,
        incidents=tuple(sorted(said.incidents.items())),
    )


def _compiled(one: NamePattern) -> re.Pattern[str]:
    return re.compile(one.pattern, re.IGNORECASE)


def _table(
    beside: Path, name: str | None, read: Callable[[str], T]
) -> tuple[T | None, str]:
    """Return the values read from a table beside the facility's file, and its text."""
    if name is None:
        return None, ""
    path = beside.parent / name
    try:
        text = _read(path).decode("utf-8-sig")
        return read(text), text
    except ValueError as exc:
        raise _refused(path, str(exc)) from exc


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as exc:
        raise _refused(path, str(exc)) from exc
    if len(raw) > _MAX_FILE_BYTES:
        raise _refused(path, f"it has more than {_MAX_FILE_BYTES} bytes")
    return raw


def _name(given: NamePattern, match: re.Match[str]) -> Name:
    """Letters and numbers are what counts of a name; what stands between is not."""
    words = [word for one in _WORDS.findall(match[0]) if (word := fold(one))]
    bare = [word.lstrip("0") or "0" for word in words]
    canonical = "-".join(bare if given.ignore_zeros else words)[:MAX_TOKEN_CHARS]
    idents = {canonical, "".join(words)[:MAX_TOKEN_CHARS], *words, *bare} - {""}
    return Name(given.kind, canonical, *match.span(), tuple(sorted(idents)))


def _refused(path: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"The facility's file {path} cannot be used: {reason}.", config_key=_SETTING
    )
