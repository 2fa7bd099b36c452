"""The numbers that one run of the bench of enrichment measured."""

from dataclasses import dataclass, field

from bench import analyser
from bench.enrich_embed import Embedding, Insert
from bench.enrich_latency import Latency
from bench.enrich_pipeline import Run
from bench.enrich_stages import Rate


@dataclass
class Found:
    """Everything one run measured."""

    load: tuple[float, float, float]
    analysed: list[analyser.Rate] = field(default_factory=list)
    pieces: dict[str, float] = field(default_factory=dict)
    stages: list[Rate] = field(default_factory=list)
    embedding: list[Embedding] = field(default_factory=list)
    inserts: list[Insert] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)
