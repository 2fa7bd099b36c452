"""Who is examined: a registered adapter, and a way of making its stub."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import cast

from shared.adapter_contract.contract import Adapter, AdapterDescriptor
from shared.plugins import ADAPTERS
from workers.adapters.kit.stub import Stub


@dataclass(frozen=True, slots=True)
class Subject:
    """One adapter over one kind of stub; an adapter may have several."""

    adapter: str
    make_stub: Callable[..., Stub]
    # Tells several subjects of one adapter apart.
    variant: str = ""
    # The rows that it is examined by; None: by all that its adapter promises.
    rows: frozenset[str] | None = None
    # How its source may write a time without a zone, as `strftime` has it.
    wall_time: str | None = None
    # The fixture whose value its stub is made with: a server that many of them share.
    stands_on: str | None = None

    @property
    def name(self) -> str:
        """What its tests are called by."""
        return f"{self.adapter}-{self.variant}" if self.variant else self.adapter


@dataclass(frozen=True, slots=True)
class Registered:
    """An adapter as its entry point names it, or why it cannot be loaded."""

    name: str
    distribution: str
    kind: type[Adapter] | None
    problem: str | None = None

    @property
    def descriptor(self) -> AdapterDescriptor:
        """What it says of itself."""
        assert self.kind is not None, f"{self.name} cannot be loaded: {self.problem}"
        return self.kind.descriptor


@cache
def registered() -> dict[str, Registered]:
    """Return every registered adapter; one that is broken spoils no other."""
    found: dict[str, Registered] = {}
    for point in entry_points(group=ADAPTERS):
        distribution = point.dist.name if point.dist is not None else ""
        try:
            kind = cast("type[Adapter]", point.load())
        except (ImportError, AttributeError) as exc:
            one = Registered(point.name, distribution, None, str(exc))
        else:
            one = Registered(point.name, distribution, kind)
        found[point.name] = one
    return dict(sorted(found.items()))


def without_subject(subjects: Iterable[Subject]) -> list[str]:
    """Return the adapters that nobody examines, of the packages that are examined."""
    known = registered()
    examined = {one.adapter for one in subjects}
    packages = {known[name].distribution for name in examined if name in known}
    return [
        name
        for name, one in known.items()
        if name not in examined and (one.distribution in packages or not packages)
    ]
