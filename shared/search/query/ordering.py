"""How hits are put in order: by the settings, which a request may overrule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

# The default factors: machines' entries count less, linked entries a bit more.
MACHINE_FACTOR = 0.7
GRAVITY_FACTOR = 1.2
ENTITY_FACTOR = 1.2
SCOPE_FACTOR = 1.2
SESSION_FACTOR = 1.1
OVERFLOW_BAND, OVERFLOW_LEAD = 0.05, 0.15
BESIDE_DAY_FACTOR = 0.8
# The share of its first hits' mean vector that a question takes before it is compared
# with all hits again.
FEEDBACK = 0.4
# Ways in which an entry is near to a question: it names a thing of the question, the
# device next to it, a device of the page, or a thing asked for just before.
NAMED, BESIDE, SCOPED, CARRIED = "named", "beside", "scoped", "carried"
# At most so much of a page may come from one source while others have candidates.
SOURCE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Ordering:
    """Everything that ranking needs to know beside the hits."""

    # The linear rerank of searches by words and by meaning.
    rerank: bool = True
    # How far the rerank moves the question towards its best hits; 0: not at all.
    feedback: float = FEEDBACK
    # Whether a model reads the best of them, and how many.
    by_model: bool = False
    # Whether that model compares pieces (late interaction) and is no cross-encoder.
    late: bool = False
    model_window: int = 50
    model_timeout_ms: int = 1000
    # T: sigmoid(logit / T) is shown.
    temperature: float = 1.0
    # The least score of a hit where a cross-encoder ran and the request gives none.
    least_by_model: float = 0.5
    # By name of a search module; where none is given 1, for one of evidence 0.5.
    branch_weights: Mapping[str, float] = field(default_factory=dict)
    # Whether a list's weight is multiplied by the worth of its best hit, from 0 to 1,
    # so that a weak list counts less.
    weigh_by_best: bool = False
    # By kind of an entry; 1 where none is given.
    domain_weights: Mapping[str, float] = field(default_factory=dict)
    # Factors of the kinds that the question asks for, that fit its intent, and that
    # belong to a group of the caller.
    domain_factor: float = 1.0
    intent_factor: float = 1.0
    role_factor: float = 1.0
    role_domains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    machine_factor: float = MACHINE_FACTOR
    # 1: neighbours in a thread do not pull.
    gravity_factor: float = GRAVITY_FACTOR
    # The `kinds`, `logbooks`, `sources` and `devices` of the page that asks: they rank
    # and never filter.
    scope: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scope_factor: float = SCOPE_FACTOR
    # Hits beyond the scope are shown where they score at most the band's share less
    # than the best within it; not where that best one leads by the lead's share.
    overflow_band: float = OVERFLOW_BAND
    overflow_lead: float = OVERFLOW_LEAD
    # The factor of an entry that names what the question names; 1: it counts no more.
    entity_factor: float = ENTITY_FACTOR
    # By way of being near: terms of which an entry has one if it is near in that way.
    near: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # The `kinds`, `logbooks` and `sources` of the page and of what was done before.
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    session_factor: float = SESSION_FACTOR
    # By kind: after so many days an entry has lost half of what age costs in all. The
    # age is counted back from `day`; None: age does not count.
    half_lives: Mapping[str, float] = field(default_factory=dict)
    day: str | None = None
    # Intervals after a day that the question names, by their beginnings. Entries
    # written in them are likely about that day, and rank behind those written on it.
    beside_day: Mapping[str, str] = field(default_factory=dict)
    beside_day_factor: float = BESIDE_DAY_FACTOR
    source_share: float = SOURCE_SHARE
    # By unit, the score of a word that is worth a half, as measured on the entries.
    saturation: Mapping[str, float] = field(default_factory=dict)
    # Calibrated scores from which a hit is trusted so much.
    high: float = 0.8
    medium: float = 0.5
    low: float = 0.25
    # The least score of a hit; None: no hit is cut.
    min_relevance_score: float | None = None
    # Whether hits of less than medium confidence are left out.
    strict: bool = False
    # None: the value of the module's settings.
    similarity_threshold: float | None = None

    def is_beside_day(self, written: datetime) -> bool:
        """Tell whether an entry was written after the day that a question names."""
        return any(
            datetime.fromisoformat(since) <= written < datetime.fromisoformat(until)
            for since, until in self.beside_day.items()
        )

    def reads(self, late: object) -> bool:
        """Tell whether a model of the given kind reads hits; None: a model of any."""
        return self.by_model and late in {None, self.late}

    @property
    def legal(self) -> list[str]:
        """Return the values that a request may give as `rerank`."""
        read = "late" if self.late else "model"
        return ["linear", read] if self.by_model else ["linear"]


SHIPPED = Ordering()
