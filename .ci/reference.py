"""Hold docs/reference/ to the code it is made from; --write makes it again."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import sys
import types
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
import click
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from api.app import create_app
from api.cli import main as command_line
from api.errors import COMMON_STATUSES
from shared import broker, errors, settings_names
from shared.entries.adapter import AdapterDescriptor, Capabilities
from shared.error_codes import CODES
from shared.errors import LogchordError
from shared.retrieval import module as search_modules
from shared.settings import Section, Settings
from shared.stages import registered
from shared.stages.descriptor import StageDescriptor
from workers.adapters.kit import matrix, subject

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"

MADE = "Made from the code by `make docs`; do not edit."


def main(argv: list[str]) -> int:
    """Write the pages, or print which of them are stale."""
    pages = {name: make() for name, make in PAGES.items()}
    if "--write" in argv:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"{len(pages)} pages written")
        return 0
    kept = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    named = pages.keys() | kept.keys()
    stale = sorted(name for name in named if pages.get(name) != kept.get(name))
    for name in stale:
        print(f"docs/reference/{name} is stale: run `make docs`")
    print(f"{len(pages)} pages, {len(stale)} stale")
    return 1 if stale else 0


def _page(title: str, *parts: str) -> str:
    return (
        "\n\n".join([f"# {title}", MADE, *(part.strip("\n") for part in parts)]) + "\n"
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = [list(head), *(list(row) for row in rows)]
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "---|" * len(cells[0]))
    return "\n".join(lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


class Setting(NamedTuple):
    """One row of the page of settings."""

    name: str
    kind: str
    default: str
    help: str


def settings_page() -> str:
    """Return every setting: name, variable, default, help, other names."""
    rows = list(_settings(Settings))
    acting = [row for row in rows if not settings_names.is_without_effect(row.name)]
    idle = [row for row in rows if settings_names.is_without_effect(row.name)]
    names = [
        (row.name, *_other_names(row.name))
        for row in rows
        if any(_other_names(row.name))
    ]
    return _page(
        "Settings",
        "The environment beats `logchord.yaml` (or `config.yml`, or the file that"
        " `LOGCHORD_CONFIG` names), which beats what a running stack of this home"
        " offers, which beats the default. In a variable, `__` goes one section down"
        " and lists are separated by spaces; an empty variable counts as absent. A"
        " secret can also be named by its file: the variable with `_FILE` behind it."
        " `logchord config` prints what is in force, and where it was written.",
        _setting_table(acting),
        "## Read and checked, without effect in this release",
        "Files of other systems name these, so they load; a value other than the"
        " default is answered with a warning at start.",
        _setting_table(idle),
        "## Other names that are understood",
        "Two names of one setting with different values are refused, naming both. Keys"
        " below `unified_search` may also stand below `AdvisoryAI: UnifiedSearch:`, and"
        " in its spelling (`BaseDomainWeights`).",
        _table(
            ("setting", "variables", "places in the file"),
            (
                (
                    _code(name),
                    " ".join(map(_code, variables)),
                    " ".join(map(_code, places)),
                )
                for name, variables, places in names
            ),
        ),
    )


def _setting_table(rows: list[Setting]) -> str:
    return _table(
        ("setting", "variable", "value", "default", "help"),
        (
            (
                _code(row.name),
                ""
                if "<" in row.name
                else _code(settings_names.environment_name(row.name)),
                row.kind,
                row.default,
                row.help,
            )
            for row in rows
        ),
    )


def _other_names(name: str) -> tuple[list[str], list[str]]:
    ours = {settings_names.environment_name(name)} if "<" not in name else set()
    known = settings_names.environment_names(name.replace("<name>", "openai"))
    variables = [one for one in known if one not in ours and "<" not in one]
    if "<" in name:
        variables = [one for one in variables if not one.startswith("LOGCHORD_")]
    # The page says once that all of `unified_search` may stand below `AdvisoryAI`.
    places = settings_names.file_aliases(name)
    return variables, [one for one in places if not one.startswith("advisory_ai.")]


def _settings(model: type[Section], above: str = "") -> Iterator[Setting]:
    for key, info in model.model_fields.items():
        name = f"{above}{key}"
        plain, may_be_none = _plain(info.annotation)
        inside = get_args(plain)[1] if get_origin(plain) is dict else None
        if isinstance(plain, type) and issubclass(plain, Section):
            yield from _settings(plain, f"{name}.")
        elif isinstance(inside, type) and issubclass(inside, Section):
            yield from _settings(inside, f"{name}.<name>.")
        else:
            default = "" if may_be_none else _default(info.default)
            bounds = _bounds(info.metadata)
            help_text = info.description or ""
            yield Setting(name, f"{_kind(plain)}{bounds}", default, help_text)


def _plain(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [one for one in get_args(annotation) if one is not type(None)]
        if len(kinds) < len(get_args(annotation)) and len(kinds) == 1:
            return kinds[0], True
    return annotation, False


def _kind(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return ", ".join(_code(str(one)) for one in get_args(annotation))
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(one) for one in get_args(annotation))
    if origin is tuple:
        return "list"
    if origin is dict:
        return "map"
    return {
        SecretStr: "secret",
        datetime: "time",
        Path: "path",
        str: "text",
        int: "integer",
        float: "number",
        bool: "true or false",
    }[annotation]


def _bounds(metadata: list[Any]) -> str:
    least = [str(one.ge) for one in metadata if isinstance(one, annotated_types.Ge)]
    above = [
        f"above {one.gt}" for one in metadata if isinstance(one, annotated_types.Gt)
    ]
    most = [str(one.le) for one in metadata if isinstance(one, annotated_types.Le)]
    if least and most:
        return f" {least[0]}..{most[0]}"
    if least:
        return f" from {least[0]}"
    return f" {above[0]}" if above else ""


def _default(value: Any) -> str:
    if value is PydanticUndefined or value in (None, "", (), {}):
        return ""
    if isinstance(value, tuple):
        return _code(" ".join(value))
    return _code(str(value).lower() if isinstance(value, bool) else str(value))


def errors_page() -> str:
    """Return every code and every class of errors."""
    found = [LogchordError]
    for kind in found:
        found += [
            one for one in kind.__subclasses__() if one.__module__ == errors.__name__
        ]
    rows = sorted(CODES.items(), key=lambda one: (one[1].status or 999, one[0]))
    return _page(
        "Errors",
        "Every route answers an error with one body: `error.id` (also in the log),"
        " `code`, `category`, `severity`, `retriable`, `message`, `request_id`, and"
        " `details` where there are any. *severity* tells the caller: `RETRIABLE` ="
        " send the same again, backing off; `CRITICAL` = do not, read the message."
        " *retriable* tells whether the system itself tries the same work again. A code"
        " without a status stands inside branch outcomes, runs and quarantine only.",
        _table(
            ("code", "HTTP", "category", "severity", "retriable"),
            (
                (
                    _code(code),
                    str(row.status or "none"),
                    row.category.value,
                    row.severity.value,
                    "yes" if row.retriable else "no",
                )
                for code, row in rows
            ),
        ),
        "## Classes, and what they say when nothing more exact is known",
        _table(
            ("class", "code", "message"),
            (
                (_code(kind.__name__), _code(kind.code), inspect.getdoc(kind) or "")
                for kind in found
            ),
        ),
    )


def tasks_page() -> str:
    """Return every Celery task: name, queue, arguments, promise."""
    # `workers.app` would make the application of a running worker: not imported here.
    task = importlib.import_module("workers.task")
    for module in task.MODULES:
        importlib.import_module(module)
    functions = task._FUNCTIONS  # noqa: SLF001 - for this page only
    return _page(
        "Tasks",
        "What the workers carry out. Arguments are ids and small integers; running a"
        " task twice equals running it once.",
        _table(
            ("task", "queue", "arguments", "promise"),
            (
                (
                    _code(name),
                    _code(broker.QUEUE_OF.get(name, "")),
                    _code(", ".join(list(inspect.signature(function).parameters)[1:])),
                    (inspect.getdoc(function) or "").split("\n")[0],
                )
                for name, function in sorted(functions.items())
            ),
        ),
    )


def modules_page() -> str:
    """Return every search module and stage that Logchord itself registers."""
    return _page(
        "Search modules and stages",
        "What entry points name, in this release and in packages of your own.",
        "## Search modules",
        "One retrieval strategy each, found by entry point `logchord.search_modules`.",
        _table(
            ("module", "mode", "scores", "falls back to", "what it does"),
            (
                (
                    _code(name),
                    _code(one.search_mode),
                    _code(one.unit),
                    _code(one.fallback or ""),
                    one.description,
                )
                for name, one in sorted(search_modules.modules().items())
            ),
        ),
        "## Stages",
        "What an entry passes, found by entry point `logchord.enhancers`, in this"
        " order. A new revision makes a stage due, or the end of the one that it comes"
        " after; what it does not read leaves it alone"
        " ([write a stage](../how-to/write-a-stage.md)).",
        _table(
            (
                "stage",
                "version",
                "after",
                "reads",
                "writes",
                "runs",
                "what it does",
            ),
            (
                (
                    _code(name),
                    str(one.version),
                    ", ".join(map(_code, one.after)),
                    ", ".join(map(_code, one.reads)) or "the whole entry",
                    one.writes,
                    _runs(one),
                    one.description,
                )
                for name, one in registered.known().items()
            ),
        ),
    )


def _runs(one: StageDescriptor) -> str:
    if not one.is_optional:
        return "always"
    if one.find is None:
        return "always; search does without it"
    return "unless switched off" if one.is_on else "if switched on"


def routes_page() -> str:
    """Return every route: what it does, what it takes, what it answers."""
    document = create_app(Settings()).openapi()
    common = ", ".join(map(str, COMMON_STATUSES))
    parts: list[str] = []
    for path, item in document["paths"].items():
        for method, route in item.items():
            if method in {"get", "post", "put", "patch", "delete"}:
                parts += _route(f"{method.upper()} {path}", route)
    return _page(
        "Routes",
        "A running API shows the same at `/docs`, with every schema and an example,"
        " and as OpenAPI at `/openapi.json`. Errors have one shape, and any route may"
        f" answer {common}: see `errors.md`. What it answers beside stands below it.",
        *parts,
    )


def _route(title: str, route: dict[str, Any]) -> Iterator[str]:
    yield f"## `{title}`"
    yield f"{route.get('summary', '')}. {route.get('description', '')}".strip()
    takes = [
        (_code(one["name"]), one["in"], one.get("description", ""))
        for one in route.get("parameters", [])
    ]
    bodies = route.get("requestBody", {}).get("content", {})
    takes += [(_code(media), "body", "") for media in bodies]
    if takes:
        yield _table(("takes", "in", ""), takes)
    yield _table(
        ("answers", ""),
        (
            (status, answer["description"])
            for status, answer in sorted(route["responses"].items())
            if status not in map(str, COMMON_STATUSES)
        ),
    )


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
    return _page(
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
        (_code(", ".join(one.opts)), one.help or "")
        for one in command.params
        if isinstance(one, click.Option)
        and not one.hidden
        and not _EVERYWHERE & set(one.opts)
    ]
    if rows:
        yield _table(("option", "help"), rows)
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _command(below, f"{path} {name}")


def adapters_page() -> str:
    """Return every adapter of ours, its settings, and the rows of the kit it keeps."""
    known = {
        name: one.descriptor
        for name, one in subject.registered().items()
        if one.distribution == "logchord"
    }
    return _page(
        "Adapters",
        "What reads which software, found by entry point `logchord.adapters`. What the"
        " words mean says `shared/entries/adapter.py`; how to add one says"
        " `docs/how-to/write-an-adapter.md`.",
        _table(
            ("adapter", "reads", "from", "other names", "zone needed"),
            (
                (
                    _code(name),
                    one.title,
                    _PLACES[one.place],
                    " ".join(map(_code, one.aliases)),
                    "yes" if one.naive_times else "no",
                )
                for name, one in known.items()
            ),
        ),
        "## What a source can tell",
        _table(
            ("adapter", *(field.name for field in dataclasses.fields(Capabilities))),
            (
                (
                    _code(name),
                    *(
                        _WORDS.get(
                            value := getattr(one.capabilities, field.name), value
                        )
                        for field in dataclasses.fields(Capabilities)
                    ),
                )
                for name, one in known.items()
            ),
        ),
        "## What the conformance kit asks of it",
        "`yes`: the row is proved on the adapter's stub. `n/a`: what it is about, the"
        " source cannot tell.",
        _table(
            ("row", "about", *map(_code, known)),
            (
                (
                    row.id,
                    row.title,
                    *(matrix.says(row.id, one) for one in known.values()),
                )
                for row in matrix.ROWS.values()
            ),
        ),
        "## Drivers of databases",
        "`generic_sql` is proved on SQLite files and on a real Postgres, whose drivers"
        " are always there. MySQL and MariaDB want `logchord[mysql]`, Oracle wants"
        " `logchord[oracle]`; both are written after the drivers' own pages, and no"
        " test runs them. A package with an adapter of its own wants `logchord[kit]`.",
        "## Settings under `args`",
        *(part for name, one in known.items() for part in _arguments(name, one)),
    )


_WORDS = {True: "yes", False: "no"}
_PLACES = {
    "base_url": "`base_url`",
    "path": "`path`",
    "either": "`base_url` or `path`",
    "none": "its `args`",
}


def _arguments(name: str, one: AdapterDescriptor) -> Iterator[str]:
    fields = one.args.model_fields
    yield f"### `{name}`"
    if not fields:
        yield "None."
        return
    yield _table(
        ("setting", "default", "help"),
        (
            (
                _code(key),
                "required" if field.is_required() else _argument_default(field),
                field.description or "",
            )
            for key, field in fields.items()
        ),
    )


def _argument_default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, dict):
        value = json.dumps(value) if value else ""
    return _default(value)


PAGES = {
    "adapters.md": adapters_page,
    "commands.md": commands_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "routes.md": routes_page,
    "tasks.md": tasks_page,
    "modules.md": modules_page,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
