"""`logchord config`: every setting in force, where it was written, what it means."""

import os
from pathlib import Path
from typing import Any

import click

from api.cli import output
from api.cli.doctor import checks
from api.cli.doctor.source_checks import describe_unusable
from shared.settings import setting_names as names
from shared.settings.report import mask_secrets
from shared.settings.settings import Report, load_report


@click.group(invoke_without_command=True)
@click.option("--changed", is_flag=True, help="Leave out what has its default.")
@click.pass_context
def config(ctx: click.Context, *, changed: bool) -> None:
    """Show every setting in force, where its value was written, and its help."""
    if ctx.invoked_subcommand is not None:
        return
    out = output.current()
    report = load_report(os.environ)
    rows = [row for row in _rows(report) if row["origin"] != "default" or not changed]
    if not out.prints_json({"settings": rows, "warnings": list(report.warnings)}):
        for row in rows:
            out.data(_as_text(row))
    _warn(out, report)


@config.command("check")
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
def check_file(file: Path | None) -> int:
    """Read the file and the environment as a start would; exit 2 if any is wrong."""
    out = output.current()
    report = load_report(os.environ, file, with_stack=False)
    count = sum(origin != "default" for origin in report.origins.values())
    wrong = describe_unusable(report.settings)
    wrong += [
        f"operations.webhook_url: {one.found} {one.remedy}"
        for one in checks.of_messages(report.settings)
        if one.state == "failed"
    ]
    told = {"given": count, "warnings": list(report.warnings), "unusable": wrong}
    if not out.prints_json(told) and not wrong:
        out.data(f"The configuration can be used; {count} settings are given.")
    _warn(out, report)
    for sentence in wrong:
        out.complain(sentence)
    return output.USAGE if wrong else output.DONE


def _warn(out: output.Output, report: Report) -> None:
    for warning in report.warnings:
        out.say(click.style(f"warning: {warning}", fg="yellow"))


def _rows(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "name": leaf.dotted,
            "value": mask_secrets(leaf.value),
            "origin": report.origins[leaf.dotted],
            "written_as": report.spelled.get(leaf.dotted),
            "variable": names.environment_name(leaf.dotted),
            "acts": not names.is_without_effect(leaf.dotted),
            "help": leaf.help,
        }
        for leaf in report.settings.leaves()
    ]


def _as_text(row: dict[str, Any]) -> str:
    value = row["value"]
    if isinstance(value, list):
        value = " ".join(value)
    elif isinstance(value, bool):
        value = str(value).lower()
    text = "(none)" if value in (None, "", {}) else str(value)
    origin = row["origin"]
    if row["written_as"] not in (None, row["name"]):
        origin = f"{origin}: {row['written_as']}"
    elif origin == "default":
        origin = f"default; {row['variable']}"
    idle = "" if row["acts"] else " Nothing acts on it yet."
    head = f"{click.style(row['name'], bold=True)} = {text}"
    return f"{head}  {click.style(f'[{origin}]', dim=True)}\n    {row['help']}{idle}"
