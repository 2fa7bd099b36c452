"""What a filter asks of one thing that is known of an entry."""

from __future__ import annotations

from dataclasses import dataclass

from shared.text import facts


@dataclass(frozen=True, slots=True)
class WantedFact:
    """What a fact of an entry must be, and what it must not."""

    field: str
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()

    @staticmethod
    def terms(field: str, values: tuple[str, ...]) -> list[str]:
        """Return the terms of values: each by its name, or as an alias of another."""
        found = (
            facts.make_term(field, value, is_alias=is_alias)
            for value in values
            for is_alias in (False, True)
        )
        return list(dict.fromkeys(found))

    @property
    def wanted_terms(self) -> list[str]:
        """One of these the entry must have, if there are any."""
        return self.terms(self.field, self.any_of)

    @property
    def unwanted_terms(self) -> list[str]:
        """None of these it may have."""
        return self.terms(self.field, self.none_of)


@dataclass(frozen=True, slots=True)
class Part:
    """What a fact of an entry must have in it, as facts are compared."""

    field: str
    part: str

    @property
    def terms(self) -> list[tuple[str, str]]:
        """Return how a term of such a fact begins, and what comes somewhere after."""
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
