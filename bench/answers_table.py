"""How answers fared against their floors and aims, with 95 % intervals."""

import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

_DRAWS = 1000
# Of a set: facts told, citations to the point, refused; None: no floor.
Numbers = tuple[float | None, float | None, float | None]
FLOORS: dict[str, Numbers] = {
    "S": (0.80, 0.85, None),
    "new": (0.72, None, None),
    "foreign": (0.45, None, None),
    "N month": (0.75, 0.85, None),
    "N open": (0.62, 0.65, None),
    "S unanswerable": (None, None, 0.92),
    "foreign unanswerable": (None, None, 0.92),
    "S perturbed": (None, None, 0.92),
    "new perturbed": (None, None, None),
    "N perturbed": (None, None, None),
    "N swapped": (None, None, 0.93),
    "N invented": (None, None, 1.0),
}
AIMS: dict[str, Numbers] = {
    "S": (0.88, 0.92, None),
    "new": (0.82, None, None),
    "N month": (0.85, 0.95, None),
    "N open": (0.75, 0.80, None),
    "S unanswerable": (None, None, 0.97),
    "S perturbed": (None, None, 0.97),
    "N swapped": (None, None, 0.97),
    "N invented": (None, None, 1.0),
}
# Nothing was fitted to the first; words of another language are not always known.
_MAY_REFUSE_MORE = frozenset({"new", "foreign"})
_COLUMNS = ("told", "to the point", "not grounded")
# The most that may be refused wrongly, and the aim.
MAY_REFUSE, AIM_REFUSED = 0.05, 0.03
LEAST_PRECISION = 0.95
# Half of the answers, and 95 of a hundred, in milliseconds: the most, and the aim.
# Words of other languages are compared one by one.
MOST_MS = {"why": (30.0, 50.0), "others": (30.0, 50.0), "foreign": (120.0, 200.0)}
AIM_MS = {"why": (10.0, 20.0), "others": (25.0, 40.0), "foreign": (60.0, 120.0)}
_STEPS = 10


@dataclass(frozen=True)
class Measured:
    """What one question came to."""

    name: str
    kind: str
    question: str
    answerable: bool
    told: bool
    to_the_point: float
    grounded: bool
    code: str
    took_ms: float
    # Whether each piece of evidence stands word for word in the revision that it names.
    supported: bool
    # Asked again it gave the same answer and the same order.
    is_stable: bool
    # The share of the question's words and the likeness in meaning, as it was judged.
    confidence: float


def show(found: Sequence[Measured]) -> list[str]:
    """Print how each set fared, and return what is below its floor."""
    table = Table(title="answers", title_justify="left")
    for heading in ("set", "n", *_COLUMNS, "floor", "aim"):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    failures, distances = [], []
    for name, floors in FLOORS.items():
        mine = [one for one in found if one.name == name]
        if not mine:
            continue
        told = [float(one.told) for one in mine]
        point = [one.to_the_point for one in mine]
        refused = [float(not one.grounded) for one in mine]
        is_answerable = mine[0].answerable
        cells = [
            with_interval(told) if is_answerable else "-",
            with_interval(point) if is_answerable else "-",
            with_interval(refused),
        ]
        aims = AIMS.get(name, (None, None, None))
        table.add_row(name, str(len(mine)), *cells, _listed(floors), _listed(aims))
        values = [statistics.fmean(one) for one in (told, point, refused)]
        for what, value, least, aim in zip(_COLUMNS, values, floors, aims, strict=True):
            if least is not None and value < least:
                failures.append(f"{name}: {what} {value:.3f}, {least:.2f} is the floor")
            if aim is not None and value < aim:
                distances.append(f"{name} {what}: {value:.3f}, {aim - value:.3f} short")
        if is_answerable and name not in _MAY_REFUSE_MORE:
            if values[2] > MAY_REFUSE:
                failures.append(f"{name}: refuses {values[2]:.3f}, {MAY_REFUSE} it may")
            if values[2] > AIM_REFUSED:
                short = values[2] - AIM_REFUSED
                distances.append(f"{name} refuses: {values[2]:.3f}, {short:.3f} more")
    Console(width=120).print(table)
    print("below the aim:", *(distances or ["nothing"]), sep="\n  ")
    return failures


def show_kinds(found: Sequence[Measured]) -> None:
    """Print how many of each kind of question are not grounded, and for what."""
    kinds: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for one in found:
        kinds[one.name, one.kind].append(one)
    table = Table(title="not grounded, by kind", title_justify="left")
    for heading in ("set", "kind", "n", "share", "codes"):
        table.add_column(heading)
    for (name, kind), mine in sorted(kinds.items()):
        refused = [one for one in mine if not one.grounded]
        codes = Counter(one.code for one in refused).most_common()
        told = ", ".join(f"{code} {count}" for code, count in codes)
        table.add_row(
            name, kind, str(len(mine)), f"{len(refused) / len(mine):.2f}", told
        )
    Console(width=120).print(table)


def show_promises(found: Sequence[Measured]) -> list[str]:
    """Print what holds of every answer, and what they took; return what does not."""
    failures = []
    told = [one for one in found if one.code != "none"]
    for what, holds in (
        ("every quote stands in the revision that it names", "supported"),
        ("the same question twice: the same answer and hash", "is_stable"),
    ):
        share = statistics.fmean(float(getattr(one, holds)) for one in told)
        print(f"{what}: {share:.4f} of {len(told)} (floor 1)")
        if share < 1:
            failures.append(f"{what}: {share:.4f}")
    took_by: dict[str, list[float]] = {what: [] for what in MOST_MS}
    for one in found:
        is_foreign = one.name.startswith("foreign")
        what = "why" if one.kind == "why" else "others"
        took_by["foreign" if is_foreign else what].append(one.took_ms)
    for what, mine in took_by.items():
        if not mine:
            continue
        bounds = zip((50, 95), MOST_MS[what], AIM_MS[what], strict=True)
        for share, least, aim in bounds:
            took = percentile(mine, share)
            print(f"{what}: {took:.1f} ms p{share} (floor {least:g}, aim {aim:g})")
            if took > least:
                failures.append(
                    f"{what}: p{share} {took:.1f} ms, {least:g} is the most"
                )
    return failures


def show_risk(found: Sequence[Measured]) -> list[str]:
    """Print what is wrong of what is grounded, and how that grows with what is."""
    grounded = [one for one in found if one.grounded]
    precision = statistics.fmean(float(one.answerable) for one in grounded)
    told = statistics.fmean(float(one.told) for one in grounded)
    print(
        f"grounded: {len(grounded)}, of which answerable {precision:.3f}"
        f" (floor {LEAST_PRECISION}), all facts told {told:.3f}"
    )
    table = Table(title="risk by coverage: the surest first", title_justify="left")
    for heading in ("answered", "n", "not answerable", "not told"):
        table.add_column(heading, justify="right")
    surest = sorted(found, key=lambda one: (not one.grounded, -one.confidence))
    for step in range(1, _STEPS + 1):
        mine = surest[: max(1, len(surest) * step // _STEPS)]
        wrong = statistics.fmean(float(not one.answerable) for one in mine)
        untold = statistics.fmean(float(not one.told) for one in mine)
        table.add_row(
            f"{step / _STEPS:.0%}", str(len(mine)), f"{wrong:.3f}", f"{untold:.3f}"
        )
    Console().print(table)
    if precision < LEAST_PRECISION:
        return [f"grounded: {precision:.3f} answerable, {LEAST_PRECISION} is the floor"]
    return []


def list_missed(found: Sequence[Measured]) -> Iterator[str]:
    """Yield each question that was not answered, or refused, as it should be."""
    for one in found:
        is_right = one.told and one.grounded if one.answerable else not one.grounded
        if not is_right:
            yield " | ".join(
                (one.name, one.kind, one.question, one.code, str(one.told))
            )


def with_interval(values: Sequence[float]) -> str:
    """Return a mean with its interval by bootstrap, the same one each time."""
    draw = random.Random(1)  # noqa: S311 - the same interval each time
    means = sorted(
        statistics.fmean(draw.choices(values, k=len(values))) for _ in range(_DRAWS)
    )
    low, high = means[_DRAWS // 40], means[-_DRAWS // 40]
    return f"{statistics.fmean(values):.2f} [{low:.2f}, {high:.2f}]"


def percentile(values: Sequence[float], share: int) -> float:
    """Return the value below which so many of a hundred lie."""
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


def _listed(numbers: Numbers) -> str:
    return " / ".join(f"{one:.2f}" for one in numbers if one is not None)
