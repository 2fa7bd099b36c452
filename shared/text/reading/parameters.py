"""Which values a text states of which device, and of what of it.

`QF1 current set to 3.2 A` states one: of QF1, its current. A bound, a range, a change
by so much and a time that something took are no values of anything.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from shared.text.facility.devices import DEVICE
from shared.text.facts import Fact, make_key, scan_words
from shared.text.reading.quantities import Quantity

# Further back nothing is looked for.
_REACH = 200
# So many of the words before a value say what it is of.
_WORDS = 3
# A row of a table is one, too.
_SENTENCE = re.compile(r"[.;!?]\s|\n\s*\n|\n(?=[^\n]*(?:\||\S\t))")
# What a device takes time for is no setting of it.
_NO_VALUE = frozenset({"time"})
# These words say that there is a value now; they name no parameter.
_SAYING = (
    "a an and at is was were are be been to of on in for from with the it its we "
    "about approximately roughly around again back then now still already "
    "just only new set reset put turned brought kept left running runs run stands "
    "stood went restored tuned reads read reading shows showed measured found "
    "has had value auf ist war jetzt von gesetzt steht der die das"
)
# So much is what has changed, and no value, unless one of the others stands between.
_CHANGING = (
    "up down change changed raise raised raising increase increased increasing lower "
    "lowered lowering decrease decreased decreasing reduce reduced reducing adjusted "
    "moved shifted stepped ramped rose fell dropped drop geandert verandert erhoht "
    "gesenkt abgesenkt verringert reduziert hoch runter"
)
_REACHING = "to from at is are was were now reads shows measured set auf von ist war"
# What was so before the value that is said already.
_EARLIER = "from was were had von war"
# A value behind one of these is a bound, a difference, another one, or no more so.
_BOUNDING = (
    "by between within below above over under than less more least most max maximum "
    "min minimum limit limits threshold tolerance tolerances not never no if until "
    "every per after before unless should would could or oder previously formerly "
    "instead rather unter uber um bis zwischen mindestens hochstens maximal minimal "
    "nicht nie kein keine pro vorher zuvor statt"
)
# So are those behind a sign; that of an arrow is none.
_SIGNS = re.compile(
    r"[<\u2264\u2265\u00b1\u2213~\u2248\u2260]|(?<![-=])>|\+/?[-\u2212]"
)
_CHANGES = frozenset(_CHANGING.split())
_REACHES = frozenset(_REACHING.split())
_ARTICLES = frozenset({"the", "der", "die", "das", "den"})
_WAS = frozenset(_EARLIER.split())
_NO_PARAMETER = frozenset(_SAYING.split()) | _CHANGES
_NO_STATEMENT = frozenset(_BOUNDING.split())


class _Named(NamedTuple):
    """A device where a text names it."""

    start: int
    end: int
    device: str


def stated(
    text: str, found: Sequence[Quantity], facts: Sequence[Fact]
) -> Iterator[Quantity]:
    """Yield the quantities in their order, each with what it is a value of.

    Its device is named before it in its sentence; or it is the only one of the text,
    and named in the sentence before: further on a text goes on to other things.
    """
    named = _named(facts) if found else []
    all_named = {one.device for one in named}
    only = all_named.pop() if len(all_named) == 1 else ""
    before: Quantity | None = None
    for one in found:
        told = one
        if one.dimension not in _NO_VALUE and not one.is_end:
            told = _of(text, one, before, named, only)
        yield told
        before = told


def of_column(told: Sequence[str], one: Quantity) -> str:
    """Return the parameter in a table column's header; empty for a bound or a range."""
    if one.is_end or one.dimension in _NO_VALUE or not _NO_STATEMENT.isdisjoint(told):
        return ""
    said = [word for word in told if word not in _NO_PARAMETER][-_WORDS:]
    return " ".join(said) or one.dimension


def _named_parameter(said: Sequence[str]) -> list[str]:
    """Return the words before a value that name its parameter; numbers name none."""
    told = (one for one in said if not (one in _NO_PARAMETER or one.isdigit()))
    return [*told][-_WORDS:]


def _named(facts: Sequence[Fact]) -> list[_Named]:
    """Return the devices in the order in which a text names them."""
    keys: dict[str, str] = {}
    found = []
    for one in facts:
        if one.field == DEVICE and one.start is not None and one.end is not None:
            device = keys.get(one.value)
            if device is None:
                device = keys[one.value] = make_key(DEVICE, one.value)
            found.append(_Named(one.start, one.end, device))
    return sorted(found)


def _of(
    text: str,
    one: Quantity,
    before: Quantity | None,
    named: Sequence[_Named],
    only: str,
) -> Quantity:
    begin = _sentence(text, one.start)
    near = _last(named, begin, one.start)
    device = near.device if near else ""
    if only and near is None and _last(named, _sentence(text, begin - 1), begin):
        device = only
    # `Raised QF1 0.2 A`: what is done may stand before the device.
    done = _done(text[begin : near.start]) if near else []
    begin = near.end if near else begin
    follows = before is not None and before.start >= begin
    if before is not None and follows:
        begin, done = before.end, []
    said = done + [word for word, _, _ in scan_words(text[begin : one.start])]
    # A sign of its own may stand first in the number: `+-0.1 A`.
    if not device or _is_none(said) or _SIGNS.search(text, begin, one.start + 1):
        return one
    told = _named_parameter(said)
    if told or before is None or not follows:
        return replace(one, device=device, parameter=" ".join(told) or one.dimension)
    if before.device != device:
        # The other end of a bound.
        return one
    # From one value to the other: of the same, unless it is another kind of value.
    is_same = before.dimension == one.dimension
    if is_same and not _WAS.isdisjoint(said):
        return one
    parameter = before.parameter if is_same else one.dimension
    return replace(one, device=device, parameter=parameter)


def _is_none(said: Sequence[str]) -> bool:
    """Tell whether words before a number make it a bound or a difference."""
    if not _NO_STATEMENT.isdisjoint(said):
        return True
    for word in reversed(said):
        if word in _REACHES:
            return False
        if word in _CHANGES:
            return True
    return False


def _done(lead: str) -> list[str]:
    """Return the word right before a device, if it tells of a change."""
    said = [word for word, _, _ in scan_words(lead) if word not in _ARTICLES]
    return [word for word in said[-1:] if word in _CHANGES]


def _last(named: Sequence[_Named], begin: int, end: int) -> _Named | None:
    """Return the last device that is named between two places, whole."""
    for place in range(bisect_left(named, end, key=itemgetter(0)) - 1, -1, -1):
        one = named[place]
        if one.start < begin:
            return None
        if one.end <= end:
            return one
    return None


def _sentence(text: str, end: int) -> int:
    """Return where the sentence begins that goes on there."""
    start = max(0, end - _REACH)
    ends = [match.end() for match in _SENTENCE.finditer(text, start, end)]
    return ends[-1] if ends else start
