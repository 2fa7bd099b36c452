"""A search's answer in a terminal: its hits, what was searched, how fresh it is."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import click

from api.cli import output
from api.cli.render.terminal import local, plain
from api.cli.render.text_layout import LABEL, labelled, wrapped
from api.cli.search import absence, debug, facets, sentences
from api.cli.search.hit import HitLayout, render_hit

# So many are counted of what a time among the words keeps out.
_MOST_OUTSIDE = 1000
_COLOURS = {
    "ok": "green",
    "empty": "green",
    "timeout": "yellow",
    "skipped": "yellow",
    "error": "red",
}


def print_answer(
    out: output.Output, answer: dict[str, Any], *, explain: bool = False
) -> None:
    """Print an answer so that it fits the terminal."""
    page = HitLayout.here()
    for line in sentences.lines(answer, page):
        out.data(line)
    for result in answer["results"]:
        out.data(render_hit(result, page, explain=explain))
    if not answer["results"]:
        for line in absence.lines(answer, page):
            out.data(line)
    for line in at_other_times(answer.get("overflow"), page, explain=explain):
        out.data(line)
    say_diagnostics(out, answer, page)
    for line in (*facets.lines(answer["facets"], page), *_closing(answer, page)):
        out.data(line)
    if explain:
        out.data(labelled("reason", plain(answer["reasoning"]), page.facts))
    if answer.get("plan"):
        for line in debug.lines(answer, page.facts):
            # A question may hold what moves the cursor, too.
            out.data(plain(line))


def at_other_times(
    overflow: dict[str, Any] | None, page: HitLayout, *, explain: bool = False
) -> Iterator[str]:
    """Yield the hits outside of the time that was read in the question."""
    if not overflow:
        return
    yield "At other times:"
    for result in overflow["items"]:
        yield render_hit(result, page, explain=explain)
        if overflow["nearest"] and result.get("entry_id") == overflow["nearest"]:
            yield labelled("nearest", "in time to what was asked for", page.facts)


def show_plan(out: output.Output, plan: dict[str, Any]) -> None:
    """Print what a search would do, as `--debug` does of one that was carried out."""
    if out.prints_json(plan):
        return
    page = HitLayout.here()
    say_diagnostics(out, plan, page)
    for line in debug.of_plan(plan, page.facts):
        out.data(plain(line))


def say_diagnostics(out: output.Output, told: dict[str, Any], page: HitLayout) -> None:
    """Print the parts of the request that were not done as asked, and why."""
    for one in told["diagnostics"]:
        said = wrapped(f"{one['level']}: {plain(one['message'])}", page.facts)
        out.say("\n".join(said))


def _closing(answer: dict[str, Any], page: HitLayout) -> Iterator[str]:
    def told(label: str, *facts: str) -> str:
        return labelled(label, facts, page.facts)

    as_of = local(answer["as_of"], page.zone) if answer["as_of"] else "unknown"
    yield told("shown", _amount(answer))
    yield told(
        "branches", *([branch_told(one) for one in answer["branches"]] or ["none"])
    )
    yield told("as of", as_of)
    if answer.get("sources_behind"):
        yield told("behind", *map(plain, _behind(answer, page)))
    # It is there to be copied: no line ends in the middle of it.
    yield labelled("job", [answer["job_id"] or "none"], page.facts, column=_id_at(page))
    yield told(
        "took", f"{answer['search_duration_ms']:.0f} ms, {answer['method_used']}"
    )
    left_out = answer["suppressed"]["count"]
    if left_out:
        yield told("left out", f"{left_out} that scored too low")
    if answer.get("hidden_count"):
        yield told("hidden", f"{answer['hidden_count']} match that you may not see")
    for one in answer["time"]["applied"]:
        yield _time(one, page)
    outside = answer["time"]["inferred"] and answer.get("relaxation")
    if outside and outside["count_outside"]:
        yield _outside(outside, page)
    said = answer.get("context_answer") or {}
    if not answer["answer"]:
        for question in said.get("questions", ()):
            yield told("asks", plain(question))
    if answer["degraded"]:
        warning = "degraded: a part of the search failed"
        yield click.style(warning, fg="yellow")


def _behind(answer: dict[str, Any], page: HitLayout) -> Iterator[str]:
    """Yield which sources may have something newer, and where it is said why."""
    for one in answer["sources_behind"]:
        last = one["answered_at"]
        since = f"last read {local(last, page.zone)}" if last else "never read"
        yield f"{one['source']} ({one['why'].replace('_', ' ')}, {since})"
    yield "see `logchord source list`"


def _id_at(page: HitLayout) -> int:
    return LABEL if page.facts >= LABEL + len(str(UUID(int=0))) else len("  ")


def _amount(answer: dict[str, Any]) -> str:
    """Return how much is shown of what matches: a few of all, or the best of some."""
    shown_here, total = answer["total_results"], answer["total_candidates"]
    if total["exact"]:
        return f"{shown_here} of all {total['lower_bound']} that match"
    if answer["complete"]:
        return f"{shown_here}, and nothing else was found"
    return f"the first {shown_here} of {total['lower_bound']} or more"


def _time(one: dict[str, Any], page: HitLayout) -> str:
    what = "happened" if one.get("field") == "event_time" else "written"
    read = f', read from "{plain(one["expression"])}"' if one["expression"] else ""
    return labelled(what, f"{_ends(one, page)}{read}", page.facts)


def _outside(relaxation: dict[str, Any], page: HitLayout) -> str:
    """Return how many hits lie outside the time read, and where the nearest lies."""
    count, wider = relaxation["count_outside"], relaxation["widen_to"]
    told = f"{count} or more" if count >= _MOST_OUTSIDE else f"{count}"
    near = f"; {_ends(wider, page)} takes the nearest in" if wider else ""
    return labelled("outside", f"{told} match at other times{near}", page.facts)


def _ends(one: dict[str, Any], page: HitLayout) -> str:
    return " ".join(
        f"{word} {local(one[end], page.zone)}"
        for word, end in (("from", "from"), ("before", "to"))
        if one[end]
    )


def branch_told(one: dict[str, Any]) -> str:
    """Return how a part of a search fared, and why it did not, in a few words."""
    status = click.style(one["status"], fg=_COLOURS.get(one["status"]))
    counted = f" {one['candidates']}" if one["status"] == "ok" else ""
    # A branch that was skipped has a reason instead of an error.
    reason = one["error_code"] or one["reason"]
    why = f" ({reason})" if reason else ""
    instead = f" for {one['fallback_for']}" if one["fallback_for"] else ""
    return f"{one['name']}{instead} {status}{counted}{why}"
