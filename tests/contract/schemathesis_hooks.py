"""What the generated cases leave out of the description, and why."""

from typing import Any

import schemathesis

LINES = "application/x-ndjson"


@schemathesis.hook
def before_load_schema(context: object, raw_schema: dict[str, Any]) -> None:
    """Leave out bodies of lines, which no generator here knows how to write.

    `api/entries/test_lines.py` of the integration tests sends the one of the
    description, and worse ones.
    """
    del context
    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            operation.get("requestBody", {}).get("content", {}).pop(LINES, None)
