"""What every answer is: a frozen model that keeps what a newer server tells besides."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Something that the API has told."""

    # Built when it is first read: there are many, and a program uses a few of them.
    model_config = ConfigDict(
        defer_build=True,
        extra="allow",
        frozen=True,
        populate_by_name=True,
        protected_namespaces=(),
    )
