"""`logchord tokens`: what the facility's analyser makes of a text, and why."""

import os
from dataclasses import asdict

import click

from api.cli import output
from api.cli.render.terminal import fact_width
from api.cli.render.text_layout import cells, labelled
from api.cli.search.question_words import QuestionCommand
from shared.settings.settings import Settings
from shared.text.analysis.analyser import version_of
from shared.text.analysis.explain_analysis import Explained, explain
from shared.text.facility import facility
from shared.text.words import languages
from shared.text.words.folding import STEMMED_LANGUAGES


@click.command(cls=QuestionCommand)
@click.argument("words", metavar="TEXT", nargs=-1, required=True)
@click.option(
    "--language",
    help=f"One of {', '.join(STEMMED_LANGUAGES)}, or another; default: as it is told.",
)
def tokens(*, words: tuple[str, ...], language: str | None) -> None:
    """Show what the analyser makes of TEXT, position by position, and why."""
    out = output.current()
    text = " ".join(words)
    analyser = Settings.load(os.environ).analyser
    own = facility.load(analyser.facility_file)
    told = language or languages.detect(text, analyser.language)
    found = list(explain(text, told, own))
    if out.as_json:
        by = {"language": told, "analyser_version": version_of(own)}
        out.document({**by, "tokens": [asdict(one) for one in found]})
        return
    out.say(f"language {told}, analyser {version_of(own)}")
    for one in found:
        out.data(_as_text(one))
    if not found:
        out.data("There is nothing in it to be found by.")


def _as_text(one: Explained) -> str:
    width = fact_width()
    about = click.style(f"{one.kind}, written {one.written!r}", dim=True)
    head = f"{one.position:>3} {click.style(one.term, bold=True)}"
    column = cells(head) + 2
    lines = [labelled(head, [about], width, column=min(column, width // 2))]
    lines += [labelled("", reason, width, column=4) for reason in one.why]
    others = [ident for ident in one.idents if ident != one.term]
    if others:
        told = f"also found by: {' '.join(others)}"
        lines.append(labelled("", told, width, column=4))
    return "\n".join(lines)
