"""The answer in sentences above the hits: what it says, how sure, and of whom."""

import re
from collections.abc import Iterator
from typing import Any

import click

from api.cli.render.terminal import local, plain
from api.cli.render.text_layout import cut, labelled, wrapped
from api.cli.search.hit import HitLayout

_COLOURS = {"grounded": "green", "clarify": "yellow", "insufficient": "yellow"}
_PINNED = re.compile(r"\[#([^\[\]\s@]+)(?:@\d+)?\]")
_TITLE = 60


def lines(answer: dict[str, Any], page: HitLayout) -> Iterator[str]:
    """Yield an answer's paragraphs, its status and grade, and its numbered sources."""
    text, said = answer["answer"], answer["context_answer"]
    if not text or not said:
        return
    numbers = {one["label"]: n for n, one in enumerate(answer["citations"], 1)}

    def number(match: re.Match[str]) -> str:
        return f"[{numbers.get(match[1], match[1])}]"

    for paragraph in text.split("\n\n"):
        yield from wrapped(plain(_PINNED.sub(number, paragraph)), page.text)
    yield judged(said, page)
    for one in answer["citations"]:
        title = cut(plain(one["title"]), _TITLE) or "(no title)"
        cited = f"[{numbers[one['label']]}] {plain(one['label'])}  {title}{_since(one)}"
        at = one["entry_time"]
        facts = [cited, local(at, page.zone) if at else "", plain(one["author"] or "")]
        yield labelled("cites", [fact for fact in facts if fact], page.facts)
    for question in said["questions"]:
        yield labelled("ask", plain(question), page.facts)
    yield ""


def judged(said: dict[str, Any], page: HitLayout) -> str:
    """Return the line of an answer's status and grade, and of why."""
    status = click.style(said["status"], fg=_COLOURS[said["status"]])
    told = [status, f"grade {said['grade']}", said["code"]]
    return labelled("answer", told, page.facts)


def _since(one: dict[str, Any]) -> str:
    if one["removed_at"]:
        return " (removed since)"
    return " (changed since)" if one["changed_since"] else ""
