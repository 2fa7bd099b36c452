"""How hits are put in order: what the settings say, and what a request says over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The factors that ship: what a machine wrote counts less, what is linked a bit more.
MACHINE_FACTOR = 0.7
GRAVITY_FACTOR = 1.2
ENTITY_FACTOR = 1.2
SCOPE_FACTOR = 1.2
SESSION_FACTOR = 1.1
OVERFLOW_BAND, OVERFLOW_LEAD = 0.05, 0.15
BESIDE_DAY_FACTOR = 0.8
# Of the mean of its first hits a question takes so much before all are weighed again.
FEEDBACK = 0.4
# How an entry is near to a question: it names what that names, the device next to it,
# a device of the page that asks, or what was asked for and done just before.
NAMED, BESIDE, SCOPED, CARRIED = "named", "beside", "scoped", "carried"
# At most so much of a page may come from one source while others have candidates.
SOURCE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Ordering:
    """Everything that ranking needs to know beside what was found."""

    # The linear rerank of searches by words and by meaning.
    rerank: bool = True
    # How far it moves the question towards its best hits; 0: not at all.
    feedback: float = FEEDBACK
    # Whether a model reads the best of them, and how many.
    by_model: bool = False
    # Whether that compares pieces (late interaction), and is no cross-encoder.
    late: bool = False
    model_window: int = 50
    model_timeout_ms: int = 1000
    # T: sigmoid(logit / T) is shown.
    temperature: float = 1.0
    # What a hit must score where a cross-encoder ran and nothing else was said.
    least_by_model: float = 0.5
    # By name of a search module; 1 where none is given.
    branch_weights: Mapping[str, float] = field(default_factory=dict)
    # Times what the list's best hit is worth, from 0 to 1: a weak list counts less.
    weigh_by_best: bool = False
    # By kind of an entry; 1 where none is given.
    domain_weights: Mapping[str, float] = field(default_factory=dict)
    # Of the kinds that the question asks for, that fit its intent, and that are those
    # of a group of the caller's.
    domain_factor: float = 1.0
    intent_factor: float = 1.0
    role_factor: float = 1.0
    role_domains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    machine_factor: float = MACHINE_FACTOR
    # 1: neighbours in a thread do not pull.
    gravity_factor: float = GRAVITY_FACTOR
    # What the page that asks is about: `kinds`, `logbooks`, `sources`, `devices`. Never
    # a filter.
    scope: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scope_factor: float = SCOPE_FACTOR
    # Hits beyond the scope are told where they score so near to its best, relative to
    # that, or more; not where its best leads by so much.
    overflow_band: float = OVERFLOW_BAND
    overflow_lead: float = OVERFLOW_LEAD
    # Of an entry that names what the question names; 1: none counts more.
    entity_factor: float = ENTITY_FACTOR
    # Terms of an entry, by how one that has any of them is near.
    near: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Where it is asked and what was done before: `kinds`, `logbooks`, `sources`.
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    session_factor: float = SESSION_FACTOR
    # By kind: after so many days an entry has lost half of what age costs it. None: no
    # age counts, and there is no day that it is counted from.
    half_lives: Mapping[str, float] = field(default_factory=dict)
    day: str | None = None
    # From when to when what is written is likely about the day before it, which the
    # question names: it stands behind what was written on that day.
    beside_day: Mapping[str, str] = field(default_factory=dict)
    beside_day_factor: float = BESIDE_DAY_FACTOR
    source_share: float = SOURCE_SHARE
    # By unit, what a word scores that is worth a half, as measured on the entries.
    saturation: Mapping[str, float] = field(default_factory=dict)
    # Calibrated scores from which a hit is trusted so much.
    high: float = 0.8
    medium: float = 0.5
    low: float = 0.25
    # None cuts nothing.
    min_relevance_score: float | None = None
    # Whether hits of less than medium confidence are left out.
    strict: bool = False
    # None: what the module's settings say.
    similarity_threshold: float | None = None

    def reads(self, late: object) -> bool:
        """Tell whether a model reads hits, of the kind asked for; None: of any."""
        return self.by_model and late in {None, self.late}

    @property
    def legal(self) -> list[str]:
        """Return what a request may name as `rerank`."""
        read = "late" if self.late else "model"
        return ["linear", read] if self.by_model else ["linear"]


SHIPPED = Ordering()
