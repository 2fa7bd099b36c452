"""What a filter asks of one fact of an entry."""

from dataclasses import dataclass

from shared.text import facts


@dataclass(frozen=True, slots=True)
class WantedFact:
    """The values that a fact of an entry must have, and those it must not have."""

    field: str
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()

    @staticmethod
    def terms(field: str, values: tuple[str, ...]) -> list[str]:
        """Return two terms for each value: its own name, and an alias of another."""
        found = (
            facts.make_term(field, value, is_alias=is_alias)
            for value in values
            for is_alias in (False, True)
        )
        return list(dict.fromkeys(found))

    @property
    def wanted_terms(self) -> list[str]:
        """The terms of which an entry must have one, if there are any."""
        return self.terms(self.field, self.any_of)

    @property
    def unwanted_terms(self) -> list[str]:
        """The terms of which an entry may have none."""
        return self.terms(self.field, self.none_of)


@dataclass(frozen=True, slots=True)
class Part:
    """A text that a fact of an entry must contain, as facts are compared."""

    field: str
    part: str

    @property
    def terms(self) -> list[tuple[str, str]]:
        """Return the beginnings of terms, each with a text that must follow it."""
        parts = [self.part]
        if self.field in facts.THINGS:
            # Names of things are kept as words, or as one name where they are one.
            parts.append(" ".join(word for word, _, _ in facts.scan_words(self.part)))
        # The name itself, and an alias of another.
        begins = (f"{self.field}{sign}" for sign in facts.SIGNS)
        return [(begin, one) for begin in begins for one in dict.fromkeys(parts) if one]


@dataclass(frozen=True, slots=True)
class QuantityBounds:
    """A quantity that an entry must name, in the unit of its dimension."""

    dimension: str
    least: float | None = None
    most: float | None = None
    name: str | None = None
