"""People of a facility: one name each, and every other form that they sign with."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.text.facility import facility_lists
from shared.text.facts import Fact, make_comparable

AUTHOR = "author"
COLUMNS = ("name", "aliases")
# Beyond it nobody's name goes on.
MAX_FORM_CHARS = 200
_NO_LETTER = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who writes entries."""

    name: str
    aliases: tuple[str, ...] = ()


class People:
    """The people of a facility, found by what they sign with."""

    def __init__(self, persons: Sequence[Person]) -> None:
        self.persons = tuple(persons)
        self._by_form = {
            _form(written): person
            for person in reversed(self.persons)
            for written in (*person.aliases, person.name)
        }

    def __bool__(self) -> bool:
        """Tell whether anybody is listed."""
        return bool(self.persons)

    def listed(self, signed: str) -> Person | None:
        """Return who of the list signs so."""
        return self._by_form.get(_form(signed))

    def author(self, signed: str) -> Fact | None:
        """Return who signed so; without a listed name, the signature as one name."""
        person = self.listed(signed)
        if person is not None:
            same = _form(person.name) == _form(signed)
            how = "name" if same else "alias"
            return Fact(AUTHOR, person.name, how, aliases=(*person.aliases, signed))
        name = _turned(signed)
        return Fact(AUTHOR, name, "said", aliases=(signed,)) if name else None


NOBODY = People(())


def forms(facts: Iterator[Fact] | Sequence[Fact]) -> list[str]:
    """Return every form of these people as a filter looks for a part of it."""
    written = (one for fact in facts for one in (fact.value, *fact.aliases))
    return sorted(
        {form[:MAX_FORM_CHARS] for one in written if (form := make_comparable(one))}
    )


def parse_people(table: str) -> People:
    """Return the people of a table (CSV), or say by ValueError which line is wrong."""
    owners: dict[str, str] = {}

    def person(row: dict[str, str]) -> Person:
        one = Person(row["name"], facility_lists.listed(row["aliases"]))
        for written in (one.name, *one.aliases):
            owner = owners.setdefault(_form(written), one.name)
            if owner != one.name:
                raise ValueError(f"{written!r} is a form of {owner!r} already")
        return one

    return People(facility_lists.rows(table, COLUMNS, person))


def _turned(signed: str) -> str:
    """Return `Javier Ruiz` for `Ruiz, Javier`; anything else as it stands."""
    name = " ".join(signed.split())
    family, comma, given = name.partition(",")
    if comma and given.strip() and "," not in given:
        return f"{given.strip()} {family.strip()}"
    return name


def _form(written: str) -> str:
    """Return a signature without its dots and case: `J. Ruiz` is `j ruiz`."""
    return _NO_LETTER.sub(" ", make_comparable(_turned(written))).strip()
