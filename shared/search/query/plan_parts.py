"""The parts of a plan that belong together: its times, words, detail and record."""

from collections.abc import Mapping
from dataclasses import dataclass

from shared.glossary.synonyms import Pairs
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
    # Whether the times were read out of the question's words.
    is_inferred: bool = False
    # Questions to the reader, where a wall time may mean two moments.
    asks: tuple[str, ...] = ()
    # The question without those words, which finds what they keep out.
    elsewhen: Elsewhen | None = None
    # The zone of the facility's clocks, for sentences about times.
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class PlanWords:
    """How the words of a question are compared with those of entries."""

    max_terms: int = 64
    # How alike a word must be to replace one that no entry has; None: none does.
    fuzzy_threshold: float | None = ALIKE
    # Whether any word is enough at once, not only where all together find nothing.
    any_word: bool = False
    # Whether every hit is named by a field: `device:`, `author:`, and the like.
    by_field: bool = False
    # Other forms of the words by the glossary that was approved when the plan was made.
    glossary: Pairs = ()


@dataclass(frozen=True, slots=True)
class PlanDetail:
    """How much an answer tells: debug, counts, sentences, and how much of each hit."""

    # Whether the answer tells how it came about.
    debug: bool = False
    # Whether a thread shows its best entry alone.
    by_thread: bool = False
    amount: Amount = WHOLE
    # The facets that a branch of its own counts, if any.
    counting: Counting | None = None
    # Whether the answer tells how many matches the caller may not see.
    acl_honesty: bool = False
    # An answer in sentences, made of the hits; None: the hits alone.
    synthesis: Synthesis | None = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """How a plan was made: kept so that a replay can compare two plans."""

    # The request as it was given.
    request: Mapping[str, object] | None = None
    # A hash of the settings that an order depends on.
    config_hash: str = ""
    # The job that this search replays.
    replay_of: str | None = None


NO_TIME, AS_SHIPPED = PlanTime(), PlanWords()
HITS_ALONE, UNRECORDED = PlanDetail(), PlanRecord()
