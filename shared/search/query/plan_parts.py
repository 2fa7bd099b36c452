"""The parts of a plan that belong together: its times, words, detail and record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.glossary.synonyms import Pairs
from shared.search.jobs.compatibility import select_known_fields
from shared.search.query.facet_request import Counting
from shared.search.query.filters.time_range import Applied
from shared.search.query.result_detail import WHOLE, Amount, Synthesis
from shared.search.query.times.without_times import Elsewhen
from shared.vocabulary.expand import ALIKE


@dataclass(frozen=True, slots=True)
class PlanTime:
    """When hits were written or happened, as the question and the filters say."""

    written: tuple[Applied, ...] = ()
    happened: tuple[Applied, ...] = ()
    # Whether words of the question said so.
    is_inferred: bool = False
    # What to ask where they may mean two times.
    asks: tuple[str, ...] = ()
    # What those words keep out is found by this.
    elsewhen: Elsewhen | None = None
    # Of the facility's clocks, for what is said of times.
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class PlanWords:
    """How the words of a question are compared with those of entries."""

    max_terms: int = 64
    # How alike a word must be to the one that nobody has written; None: none stands in.
    fuzzy_threshold: float | None = ALIKE
    # Whether any of them is enough from the first, not only where all find none.
    any_word: bool = False
    # Whether every hit is named by a field: `device:`, `author:`, and the like.
    by_field: bool = False
    # What they are searched as by the glossary that was approved by then.
    glossary: Pairs = ()


@dataclass(frozen=True, slots=True)
class PlanDetail:
    """What an answer tells beside the order of its hits, and how much of them."""

    # How it came about.
    debug: bool = False
    # Of a thread its best entry alone.
    by_thread: bool = False
    amount: Amount = WHOLE
    # What a branch of its own counts, if anything.
    counting: Counting | None = None
    # How many match that the caller may not see.
    acl_honesty: bool = False
    # An answer in sentences, made of the hits; None: the hits alone.
    synthesis: Synthesis | None = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """What is kept of how a plan was made, for whoever compares it with another."""

    # As it was given.
    request: Mapping[str, object] | None = None
    # Of the settings that an order depends on.
    config_hash: str = ""
    # The job that is asked again.
    replay_of: str | None = None


NO_TIME, AS_SHIPPED = PlanTime(), PlanWords()
HITS_ALONE, UNRECORDED = PlanDetail(), PlanRecord()


def read_time(values: Mapping[str, Any]) -> PlanTime:
    """Read the times of a plan back from its JSON, which is flat."""
    elsewhen = values.get("elsewhen")
    return PlanTime(
        **{
            **select_known_fields(PlanTime, values),
            "written": tuple(Applied(**one) for one in values.get("times", ())),
            "happened": tuple(Applied(**one) for one in values.get("happened", ())),
            "asks": tuple(values.get("asks", ())),
            "elsewhen": Elsewhen.from_values(elsewhen) if elsewhen else None,
        }
    )


def read_words(values: Mapping[str, Any]) -> PlanWords:
    """Read how words are compared back from a plan's JSON."""
    pairs = values.get("glossary", ())
    glossary = tuple((term, form) for term, form in pairs)
    known = select_known_fields(PlanWords, values)
    return PlanWords(**{**known, "glossary": glossary})


def read_detail(values: Mapping[str, Any]) -> PlanDetail:
    """Read what an answer tells back from a plan's JSON."""
    counting, synthesis = values.get("counting"), values.get("synthesis")
    return PlanDetail(
        **{
            **select_known_fields(PlanDetail, values),
            "amount": Amount.from_values(values.get("amount", {})),
            "counting": Counting.from_values(counting) if counting else None,
            "synthesis": read_synthesis(synthesis),
        }
    )


def read_synthesis(values: Mapping[str, Any] | None) -> Synthesis | None:
    """Read what is wanted of an answer back; a newer release may want more."""
    return Synthesis(**select_known_fields(Synthesis, values)) if values else None
