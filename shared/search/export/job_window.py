"""The window of a job as a file: its hits in their places, read again, cited."""

from collections.abc import Mapping, Sequence
from typing import Literal

from shared.search.export import formats
from shared.search.results.citation_labels import make_labels
from shared.search.results.hydrate import HitRow
from shared.search.results.result_page import ResultPage
from shared.times.rfc3339 import timestamp

WindowFormat = Literal["jsonl", "csv", "md"]
MEDIA_TYPES: Mapping[WindowFormat, str] = {
    "jsonl": formats.MEDIA_TYPES["jsonl"],
    "csv": formats.MEDIA_TYPES["csv"],
    "md": "text/markdown; charset=utf-8",
}


def written(
    form: WindowFormat, query: str, tenant: str, page: ResultPage, *, complete: bool
) -> str:
    """Return a job's hits as a file; its last record says whether all are in it."""
    rows = [shown.row for shown in page]
    if form == "md":
        return _markdown(query, rows, complete=complete)
    lines = [formats.line(form, formats.record(tenant, row)) for row in rows]
    last = formats.ending(form, len(rows), complete=complete)
    return "".join((formats.heading(form), *lines, last))


def _markdown(query: str, rows: Sequence[HitRow], *, complete: bool) -> str:
    """Return a list to read, each entry with the citation of what was read."""
    labels = make_labels(rows)
    told = " ".join(query.split()) or "(no words)"
    parts = [f"# {told}\n"]
    for row in rows:
        title = " ".join(row.title.split()) or "(no title)"
        about = " · ".join((timestamp(row.entry_time) or "", *row.authors))
        quoted = "\n".join(f"> {line}".rstrip() for line in row.text.splitlines())
        cited = f"[#{labels[row.entry_id]}@{row.revision}]"
        parts.append(f"## {title} {cited}\n\n{about}\n\n{quoted}\n")
    amount = f"{'All' if complete else 'The first'} {len(rows)} entries."
    return "\n".join((*parts, amount, ""))
