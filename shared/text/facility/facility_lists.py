"""A facility's lists, kept as a table (CSV) by whoever keeps them: checked, by line."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

_APART = re.compile(r"[;|]")

T = TypeVar("T")


def rows(
    table: str, columns: Sequence[str], read: Callable[[dict[str, str]], T]
) -> list[T]:
    """Read each line that has a `name`; raise ValueError naming the line that is wrong.

    The first line names the columns, in any order; only `name` must be there. Raises
    ValueError, as `read` may too.
    """
    lines = csv.DictReader(io.StringIO(table), restkey="more", strict=True)
    found: list[T] = []
    try:
        named = [name.strip().lower() for name in lines.fieldnames or ()]
        if "name" not in named or set(named) - set(columns):
            message = f"the columns are {', '.join(columns)}; `name` must be there"
            raise ValueError(message)  # noqa: TRY301 - said with its line below
        lines.fieldnames = named
        for line in lines:
            if "more" in line:
                message = "it has more values than there are columns"
                raise ValueError(message)  # noqa: TRY301 - said with its line below
            row = {name: " ".join((line[name] or "").split()) for name in named}
            if row["name"]:
                found.append(read({**dict.fromkeys(columns, ""), **row}))
    except (ValueError, csv.Error) as exc:
        raise ValueError(f"line {lines.line_num}: {exc}") from exc
    return found


def listed(value: str) -> tuple[str, ...]:
    """Return the values of a column that holds several, apart by `;` or `|`."""
    return tuple(one.strip() for one in _APART.split(value) if one.strip())
