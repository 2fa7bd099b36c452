"""`logchord search` that found nothing: what that means, and what came near."""

from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

from api.cli.render.terminal import local, plain
from api.cli.render.text_layout import cut, labelled, wrapped
from api.cli.search import sentences
from api.cli.search.hit import HitLayout
from shared.search.absence import gates

_TITLE = 40
_MOST_SOURCES = 5


def lines(answer: dict[str, Any], page: HitLayout) -> Iterator[str]:
    """Yield which sources and times were searched, what is unknown, and near misses."""
    said = answer["context_answer"]
    yield from wrapped(
        plain(said["summary"] if said else "Nothing was found."), page.text
    )
    if said and not answer["answer"]:
        yield sentences.judged(said, page)
    coverage = answer["coverage"] or {}
    # A source that is pushed to has no `complete_to`: nobody knows what is missing.
    read = [one for one in coverage.get("sources", []) if one["complete_to"]]
    for one in read[:_MOST_SOURCES]:
        yield labelled("searched", plain(_reach(one, page.zone)), page.facts)
    if len(read) > _MOST_SOURCES:
        more = f"and {len(read) - _MOST_SOURCES} more: --json has all"
        yield labelled("searched", more, page.facts)
    for one in coverage.get("nearest", []):
        yield labelled("near", plain(_near(one)), page.facts)
    yield ""


def _reach(one: dict[str, Any], zone: ZoneInfo) -> str:
    gaps = f", but for {len(one['gaps'])} gaps" if one["gaps"] else ""
    end = local(one["complete_to"], zone)
    if one["complete_from"] is None:
        return f"{one['source']}, what was new until {end}{gaps}"
    # Answers that were stored by an earlier release do not say it.
    is_whole = one.get("is_whole", False)
    began = "its beginning" if is_whole else local(one["complete_from"], zone)
    return f"{one['source']}, complete from {began} to {end}{gaps}"


def _near(one: dict[str, Any]) -> str:
    title = cut(plain(one["title"]), _TITLE) or "(no title)"
    why = gates.say_gate(one["gate"])
    numbers = ""
    if one["value"] is not None:
        numbers = f": {one['value']:.2f}, {one['limit']:.2f} needed"
    return f"{one['source']}/{one['external_id']}  {title}  {why}{numbers}"
