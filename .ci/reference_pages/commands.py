"""The page of commands."""

import inspect
from collections.abc import Iterator

import click

from api.cli import main as command_line
from reference_pages.markdown import as_code, page, table


def commands_page() -> str:
    """Return every command with its options."""
    ctx = click.Context(command_line.cli, info_name="logchord")
    commands = (
        (name, command_line.cli.get_command(ctx, name))
        for name in command_line.cli.list_commands(ctx)
    )
    parts = [
        part
        for name, command in commands
        if command is not None
        for part in _command(command, f"logchord {name}")
    ]
    return page(
        "Commands",
        "Every command also takes `--url`, `--key`, `--json`, `--quiet` and"
        " `--no-color`. Exit codes: 0 done, 1 something asked for failed, 2 usage or"
        " configuration, 3 not found, 4 not allowed, 5 try again, 6 degraded,"
        " 130 interrupted.",
        *parts,
    )


_EVERYWHERE = {"--url", "--key", "--json", "--quiet", "--no-color"}


def _command(command: click.Command, path: str) -> Iterator[str]:
    arguments = [
        one.make_metavar(click.Context(command))
        for one in command.params
        if isinstance(one, click.Argument)
    ]
    yield f"## `{' '.join([path, *arguments])}`"
    yield inspect.cleandoc(command.help or "").replace("\b", "")
    rows = [
        (as_code(", ".join(one.opts)), one.help or "")
        for one in command.params
        if isinstance(one, click.Option)
        and not one.hidden
        and not _EVERYWHERE & set(one.opts)
    ]
    if rows:
        yield table(("option", "help"), rows)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _command(below, f"{path} {name}")
