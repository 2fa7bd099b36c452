"""A stage of an entry's work: the alarms that its text names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field

from shared.stages.stage_contract import StageDescriptor, StageInput


class Options(BaseModel):
    """What `stages.alarms.settings` may say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    word: str = Field("ALARM", min_length=1, max_length=20)
    meanings: dict[int, str] = {}


class Alarm(BaseModel):
    """An alarm that the text names, and where."""

    number: int = Field(ge=1)
    meaning: str | None = None
    start: int
    end: int


def find(reading: StageInput) -> Iterator[Alarm]:
    """Yield the alarms of an entry, in the order of its text."""
    options = reading.options
    assert isinstance(options, Options)
    for match in re.finditer(
        rf"\b{re.escape(options.word)} (\d{{1,9}})", reading["text"]
    ):
        number = int(match[1])
        yield Alarm(
            number=number,
            meaning=options.meanings.get(number),
            start=match.start(),
            end=match.end(),
        )


def get_stage_descriptor() -> StageDescriptor:
    """Return what Logchord knows of the stage."""
    return StageDescriptor(
        "alarms",
        version=1,
        description="Finds the alarms that the text names.",
        reads=("text",),
        options=Options,
        finds=Alarm,
        find=find,
        searched=("meaning",),
    )
