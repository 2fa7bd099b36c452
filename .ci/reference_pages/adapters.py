"""The page of adapters."""

import dataclasses
import json
from collections.abc import Iterator

from pydantic.fields import FieldInfo

from reference_pages.markdown import as_code, as_default, page, table
from shared.adapter_contract.contract import AdapterCapabilities, AdapterDescriptor
from workers.adapters.kit import matrix, subject


def adapters_page() -> str:
    """Return every adapter of ours, its settings, and the rows of the kit it keeps."""
    known = {
        name: one.descriptor
        for name, one in subject.registered().items()
        if one.distribution == "logchord"
    }
    return page(
        "Adapters",
        "What reads which software, found by entry point `logchord.adapters`. What the"
        " words mean says `shared/adapter_contract/contract.py`; how to add one says"
        " `docs/how-to/write-an-adapter.md`.",
        table(
            ("adapter", "reads", "from", "other names", "zone needed"),
            (
                (
                    as_code(name),
                    one.title,
                    _PLACES[one.place],
                    " ".join(map(as_code, one.aliases)),
                    "yes" if one.naive_times else "no",
                )
                for name, one in known.items()
            ),
        ),
        "## What a source can tell",
        table(
            (
                "adapter",
                *(field.name for field in dataclasses.fields(AdapterCapabilities)),
            ),
            (
                (
                    as_code(name),
                    *(
                        _WORDS.get(
                            value := getattr(one.capabilities, field.name), value
                        )
                        for field in dataclasses.fields(AdapterCapabilities)
                    ),
                )
                for name, one in known.items()
            ),
        ),
        "## What the conformance kit asks of it",
        "`yes`: the row is proved on the adapter's stub. `n/a`: what it is about, the"
        " source cannot tell.",
        table(
            ("row", "about", *map(as_code, known)),
            (
                (row, title, *(matrix.says(row, one) for one in known.values()))
                for row, title in matrix.ROWS.items()
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
    yield table(
        ("setting", "default", "help"),
        (
            (
                as_code(key),
                "required" if field.is_required() else _argument_default(field),
                " ".join((field.description or "").split()),
            )
            for key, field in fields.items()
        ),
    )


def _argument_default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, dict):
        value = json.dumps(value) if value else ""
    return as_default(value)
