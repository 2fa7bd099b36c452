"""`logchord`: every command by name, imported only when it is called."""

import importlib
import io
import sys
from typing import Any, NamedTuple

import click

from api.cli import output
from shared.errors import LogchordError
from shared.suggest import hint


class CommandEntry(NamedTuple):
    """Where below api.cli a command lives, and its line in the list of commands."""

    module: str
    help: str
    attribute: str | None = None


# Importing every command would make `logchord --help` take a second.
COMMANDS = {
    "up": CommandEntry("stack.stack", "Start the whole system on this machine."),
    "down": CommandEntry("stack.stack", "Stop it."),
    "status": CommandEntry("commands.status", "Say what runs and how far the work is."),
    "logs": CommandEntry("commands.logs", "Show the log of a process."),
    "doctor": CommandEntry(
        "doctor.doctor", "Name every unmet precondition, and its remedy."
    ),
    "serve": CommandEntry("commands.serve", "Run one process in the foreground."),
    "migrate": CommandEntry(
        "commands.migrate", "Bring the database's schema up to date."
    ),
    "backup": CommandEntry(
        "backup.backup", "Write all that cannot be made again to a file."
    ),
    "restore": CommandEntry("backup.restore", "Put a backup back."),
    "upgrade": CommandEntry(
        "backup.upgrade", "Check, back up, and bring the schema up to date."
    ),
    "push": CommandEntry("commands.push", "Send entries from a file."),
    "search": CommandEntry("search.search", "Search the logbooks."),
    "ask": CommandEntry("search.ask", "Answer a question from the logbooks."),
    "show": CommandEntry("commands.show", "Show an entry."),
    "thread": CommandEntry(
        "commands.show", "Show what an entry answers, and what answers it."
    ),
    "similar": CommandEntry("commands.similar", "Show what is like an entry."),
    "digest": CommandEntry("commands.digest", "Show what a shift must know."),
    "jobs": CommandEntry("commands.jobs", "See, watch and end your searches."),
    "why-not": CommandEntry(
        "search.why_not", "Say why a search did not return an entry.", "why_not"
    ),
    "glossary": CommandEntry(
        "commands.glossary", "Propose, approve and reject what terms are searched as."
    ),
    "saved": CommandEntry(
        "commands.saved", "Be told of new entries that a search finds."
    ),
    "tokens": CommandEntry("commands.tokens", "Show what becomes of a text, and why."),
    "ingest": CommandEntry("commands.ingest", "Read sources now."),
    "source": CommandEntry("source.source", "See, check and run the sources."),
    "quarantine": CommandEntry(
        "commands.quarantine", "See, release or discard what failed."
    ),
    "rebuild": CommandEntry("commands.rebuild", "Make the search index anew."),
    "models": CommandEntry("commands.reembed", "List the embedding models."),
    "reembed": CommandEntry("commands.reembed", "Embed every entry for another model."),
    "purge": CommandEntry("commands.purge", "Remove an entry without a trace."),
    "keys": CommandEntry("commands.keys", "Create, list and revoke API keys."),
    "audit": CommandEntry("commands.audit", "Show who did what."),
    "eval": CommandEntry(
        "search.evaluate", "Ask judged questions; say how well it finds.", "evaluate"
    ),
    "bundle": CommandEntry(
        "stack.bundle", "Write an archive that installs without a network."
    ),
    "config": CommandEntry("commands.config", "Show every setting in force, and why."),
}


class Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a day's work."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command and give it the options that all commands have."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        module = importlib.import_module(f"api.cli.{entry.module}")
        command: click.Command = getattr(module, entry.attribute or cmd_name)
        return _with_global_options(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command where one is unknown."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command '{args[0]}'.{hint(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.help) for name, row in COMMANDS.items()])


def _set(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Keep a global option wherever on the line it was written."""
    out = ctx.ensure_object(output.Output)
    if param.name and value not in (None, False):
        if param.name == "color":
            out.color = False
        else:
            setattr(out, param.name, value)
    return value


def _global_options() -> list[click.Option]:
    shared: dict[str, Any] = {"expose_value": False, "callback": _set}
    flag: dict[str, Any] = {"is_flag": True, **shared}
    return [
        click.Option(["--url"], help="Address of the API.", **shared),
        click.Option(["--key"], help="API key; better: LOGCHORD_API_KEY.", **shared),
        click.Option(["--json", "as_json"], help="Print JSON.", **flag),
        click.Option(["--quiet"], help="Print data and errors only.", **flag),
        click.Option(["--no-color", "color"], help="Print without colour.", **flag),
    ]


def _with_global_options(command: click.Command) -> click.Command:
    taken = {name for param in command.params for name in param.opts}
    for option in _global_options():
        if not taken.intersection(option.opts):
            command.params.append(option)
    if isinstance(command, click.Group):
        for child in command.commands.values():
            _with_global_options(child)
    return command


@click.command(
    cls=Commands,
    params=_global_options(),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 88,
        "show_default": True,
    },
)
@click.version_option(package_name="logchord")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Logchord searches the logbooks of a facility."""
    ctx.ensure_object(output.Output)


def main(arguments: list[str] | None = None) -> None:
    """Run one command and end the process with the code that the contract names."""
    out = output.Output()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal of another alphabet shows what it can, and a mark for the rest.
        sys.stdout.reconfigure(errors="replace")
    try:
        ending = cli.main(
            arguments, prog_name="logchord", standalone_mode=False, obj=out
        )
    except click.ClickException as exc:
        exc.show()
        sys.exit(exc.exit_code)
    except (click.Abort, KeyboardInterrupt):
        out.say("Interrupted.")
        sys.exit(output.INTERRUPTED)
    except LogchordError as exc:
        sys.exit(output.show_error(out, exc))
    except UnicodeEncodeError:
        out.complain("What was typed holds bytes that are no UTF-8.")
        sys.exit(output.USAGE)
    except BrokenPipeError:
        # The reader of a pipe (`| head`) has gone: there is nobody left to tell.
        sys.stdout = None
        sys.exit(output.DONE)
    except OSError as exc:
        if exc.filename is None:
            raise
        out.complain(f"{exc.filename} cannot be used: {exc.strerror}.")
        sys.exit(output.FAILED)
    sys.exit(ending if isinstance(ending, int) else output.DONE)


if __name__ == "__main__":
    main()
