"""The page of codes and classes of errors."""

import inspect

from reference_pages.markdown import as_code, page, table
from shared import errors
from shared.error_codes import CODES
from shared.errors import LogchordError


def errors_page() -> str:
    """Return every code and every class of errors."""
    found = [LogchordError]
    for kind in found:
        found += [
            one for one in kind.__subclasses__() if one.__module__ == errors.__name__
        ]
    rows = sorted(CODES.items(), key=lambda one: (one[1].status or 999, one[0]))
    return page(
        "Errors",
        "Every route answers an error with one body: `error.id` (also in the log),"
        " `code`, `category`, `severity`, `retriable`, `message`, `request_id`, and"
        " `details` where there are any. *severity* tells the caller: `RETRIABLE` ="
        " send the same again, backing off; `CRITICAL` = do not, read the message."
        " *retriable* tells whether the system itself tries the same work again. A code"
        " without a status stands inside branch outcomes, runs and quarantine only.",
        table(
            ("code", "HTTP", "category", "severity", "retriable"),
            (
                (
                    as_code(code),
                    str(row.status or "none"),
                    row.category.value,
                    row.severity.value,
                    "yes" if row.retriable else "no",
                )
                for code, row in rows
            ),
        ),
        "## Classes, and what they say when nothing more exact is known",
        table(
            ("class", "code", "message"),
            (
                (as_code(kind.__name__), as_code(kind.code), inspect.getdoc(kind) or "")
                for kind in found
            ),
        ),
    )
