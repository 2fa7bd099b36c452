"""Which things a card is made of: what the question names, what its best hits share."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal
from uuid import UUID

from shared.ids import parse_uuid
from shared.search.query import entities
from shared.search.query.plan import Plan
from shared.text.analysis.analyser import quote_lexeme
from shared.text.facility.devices import DEVICE, SYSTEM
from shared.text.facility.facility import Facility
from shared.text.facts import MARK, THINGS, make_key, make_term

# So many best hits are looked at, and a thing must be in so large a share of them.
BEST_HITS, SHARE = 10, 0.4
# One hit shares nothing with itself.
LEAST_HITS = 2
MOST_THINGS, MOST_THREADS = 3, 2
# A document, a person, a substance or a size is no thing that trips; a system is many
# of them.
_NO_CARD = frozenset(
    {
        *(entities.PERSON, entities.QUANTITY, entities.ENTRY, entities.SOURCE),
        *(entities.THREAD, SYSTEM, "document", "substance", "ticket"),
    }
)

Why = Literal["named", "shared"]
# By entry: what it names, as the metadata stage keeps it.
NamedByHit = Mapping[UUID, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class CardThing:
    """A device or another named thing, and the terms of what names it."""

    kind: str
    canonical: str
    title: str
    why: Why
    # What the facility's list calls it besides.
    aliases: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """Return a Postgres query that finds entries that name the thing."""
        field = self.kind if self.kind in THINGS else DEVICE
        terms = [
            MARK + make_term(field, self.canonical),
            MARK + make_term(field, self.canonical, is_alias=True),
        ]
        if self.kind not in THINGS or not self.aliases:
            terms.append(self.canonical)
        return " | ".join(map(quote_lexeme, terms))


def find_card_things(
    plan: Plan, facility: Facility, named: NamedByHit
) -> list[CardThing]:
    """Return the things of a page, those named in the question first."""
    found: dict[tuple[str, str], CardThing] = {}
    for one in entities.find_entities(plan, facility):
        if one.kind not in _NO_CARD:
            thing = _make(one.kind, one.canonical, one.name, "named", facility)
            found.setdefault(_key(one.kind, one.canonical), thing)
    least = least_shared(len(named))
    counts: Counter[tuple[str, str]] = Counter()
    written: dict[tuple[str, str], tuple[str, str]] = {}
    for things in named.values():
        keys: dict[tuple[str, str], None] = {}
        for name in things:
            if name["kind"] in _NO_CARD:
                continue
            key = _key(name["kind"], name["canonical"])
            keys[key] = None
            written.setdefault(key, (name["kind"], name["canonical"]))
        counts.update(keys.keys())
    for key, hits in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        if hits >= least:
            kind, canonical = written[key]
            found.setdefault(key, _make(kind, canonical, "", "shared", facility))
    return list(found.values())[:MOST_THINGS]


def find_card_threads(plan: Plan, threads: Sequence[UUID | None]) -> dict[UUID, Why]:
    """Return the threads of a page: asked for by a filter, or of 40 % of its best."""
    asked = map(parse_uuid, plan.filters.threads or ())
    found: dict[UUID, Why] = {one: "named" for one in asked if one is not None}
    best = threads[:BEST_HITS]
    counts = Counter(one for one in best if one is not None)
    for thread, hits in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        if hits >= least_shared(len(best)):
            found.setdefault(thread, "shared")
    return dict(list(found.items())[:MOST_THREADS])


def least_shared(hits: int) -> int:
    """Return how many of so many hits must name a thing for it to have a card."""
    return max(LEAST_HITS, ceil(SHARE * hits))


def names_thing(thing: CardThing, named: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a name in an entry names this thing."""
    key = _key(thing.kind, thing.canonical)
    return any(_key(one["kind"], one["canonical"]) == key for one in named)


def _make(
    kind: str, canonical: str, written: str, why: Why, facility: Facility
) -> CardThing:
    if kind in THINGS:
        key = make_key(kind, canonical)
        for listed in facility.things.things:
            if listed.kind == kind and make_key(kind, listed.name) == key:
                return CardThing(kind, listed.name, listed.name, why, listed.aliases)
    return CardThing(kind, canonical, written, why)


def _key(kind: str, canonical: str) -> tuple[str, str]:
    return kind, make_key(kind, canonical) if kind in THINGS else canonical
