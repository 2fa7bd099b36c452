"""Parameters that several routes take."""

from typing import Annotated, Literal

from fastapi import Header, Query

# The pattern is written down here and checked elsewhere: its refusal has its own code.
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="The same key again gets the same answer.",
        json_schema_extra={"pattern": "^[!-~]{1,128}$"},
    ),
]
WaitFor = Annotated[
    Literal["index"] | None, Query(description="Answer once it can be found.")
]
WaitMs = Annotated[int, Query(ge=0, le=30_000)]
PageSize = Annotated[int, Query(ge=1, le=100)]
