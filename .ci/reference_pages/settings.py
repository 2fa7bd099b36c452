"""The page of settings."""

import types
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import annotated_types
from pydantic import SecretStr

from reference_pages.markdown import as_code, as_default, page, table
from shared.settings import setting_names
from shared.settings.sections import Section, read_help
from shared.settings.settings import Settings


class Setting(NamedTuple):
    """One row of the page of settings."""

    name: str
    kind: str
    default: str
    help: str


def settings_page() -> str:
    """Return every setting: name, variable, default, help, other names."""
    rows = list(described(Settings))
    acting = [row for row in rows if not setting_names.is_without_effect(row.name)]
    idle = [row for row in rows if setting_names.is_without_effect(row.name)]
    names = [
        (row.name, *_other_names(row.name))
        for row in rows
        if any(_other_names(row.name))
    ]
    return page(
        "Settings",
        "The environment beats `logchord.yaml` (or `config.yml`, or the file that"
        " `LOGCHORD_CONFIG` names), which beats what a running stack of this home"
        " offers, which beats the default. In a variable, `__` goes one section down"
        " and lists are separated by spaces; an empty variable counts as absent. A"
        " secret can also be named by its file: the variable with `_FILE` behind it."
        " `logchord config` prints what is in force, and where it was written.",
        _setting_table(acting),
        "## Read and checked, without effect in this release",
        "Files of other systems name these, so they load; what is switched on, or has a"
        " value other than the default, is answered with a warning at start.",
        _setting_table(idle),
        "## Other names that are understood",
        "Two names of one setting with different values are refused, naming both. Keys"
        " below `unified_search` may also stand below `AdvisoryAI: UnifiedSearch:` or"
        " `AdvisoryAI: KnowledgeSearch:`, and in their spelling (`BaseDomainWeights`).",
        table(
            ("setting", "variables", "places in the file"),
            (
                (
                    as_code(name),
                    " ".join(map(as_code, variables)),
                    " ".join(map(as_code, places)),
                )
                for name, variables, places in names
            ),
        ),
    )


def _setting_table(rows: list[Setting]) -> str:
    return table(
        ("setting", "variable", "value", "default", "help"),
        (
            (
                as_code(row.name),
                ""
                if "<" in row.name
                else as_code(setting_names.environment_name(row.name)),
                row.kind,
                row.default,
                row.help,
            )
            for row in rows
        ),
    )


def _other_names(name: str) -> tuple[list[str], list[str]]:
    ours = {setting_names.environment_name(name)} if "<" not in name else set()
    known = setting_names.environment_names(name.replace("<name>", "openai"))
    variables = [one for one in known if one not in ours and "<" not in one]
    if "<" in name:
        variables = [one for one in variables if not one.startswith("LOGCHORD_")]
    # The page says once that all of `unified_search` may stand below `AdvisoryAI`.
    places = setting_names.file_aliases(name)
    return variables, [one for one in places if not one.startswith("advisory_ai.")]


def described(model: type[Section], above: str = "") -> Iterator[Setting]:
    """Walk every setting of a section, and of those below it."""
    for key, info in model.model_fields.items():
        name = f"{above}{key}"
        plain, may_be_none = _plain(info.annotation)
        inside = get_args(plain)[1] if get_origin(plain) is dict else None
        if isinstance(plain, type) and issubclass(plain, Section):
            yield from described(plain, f"{name}.")
        elif isinstance(inside, type) and issubclass(inside, Section):
            yield from described(inside, f"{name}.<name>.")
        else:
            default = "" if may_be_none else as_default(info.default)
            bounds = _bounds(info.metadata)
            said = read_help(model)[key]
            yield Setting(name, f"{_kind(plain)}{bounds}", default, said)


def _plain(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [one for one in get_args(annotation) if one is not type(None)]
        if len(kinds) < len(get_args(annotation)) and len(kinds) == 1:
            return kinds[0], True
    return annotation, False


def _kind(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return ", ".join(as_code(str(one)) for one in get_args(annotation))
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
        type(None): "`null`",
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
