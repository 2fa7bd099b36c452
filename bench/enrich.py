"""How fast entries are enriched: every stage, the whole of them, and what waits."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import MappingProxyType

import psutil
from rich.console import Console

from bench import (
    analyser,
    enrich_embed,
    enrich_latency,
    enrich_pipeline,
    enrich_site,
    enrich_stages,
    enrich_tables,
    enrich_texts,
    rig,
)
from bench.enrich_numbers import Found
from bench.keep_results import keep_results
from bench.rig import Ground
from shared.embedding.load_model import load_encoder
from shared.embedding.models import model_names
from shared.embedding.models.encoder_contract import Encoder
from shared.opensearch import mapping
from shared.opensearch.client import make_client
from shared.settings.settings import Settings

PARTS = ("analyser", "stages", "embedding", "pipeline", "latency")


@dataclass(frozen=True)
class Size:
    """How much a run moves, and for how long it looks."""

    analysed: int
    entries: int
    texts: int
    # Vectors that are there before; and those inserted in each order.
    standing: int
    inserted: int
    # One after the other, through the same system.
    pipeline: tuple[int, ...]
    latency_seconds: float


SIZES = {
    "full": Size(20_000, 10_000, 4_000, 10_000, 2_000, (10_000, 100_000), 30),
    "quick": Size(2_000, 2_000, 800, 2_000, 1_000, (1_000,), 8),
    "tiny": Size(50, 40, 16, 20, 20, (40,), 0.2),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on servers of our own, print tables, keep the numbers as JSON."""
    asked = _options(arguments)
    found = measure(SIZES[asked.size], asked.part or PARTS, entries=asked.entries)
    enrich_tables.show(Console(), found)
    if asked.keep:
        keep_results("enrich", size=asked.size, **asdict(found))


def measure(
    size: Size,
    parts: Sequence[str],
    *,
    entries: int | None = None,
    extra: Mapping[str, str] = MappingProxyType({}),
) -> Found:
    """Measure the parts named, one after the other."""
    found = Found(psutil.getloadavg())
    if "analyser" in parts:
        found.analysed = [
            one
            for one in analyser.measure(size.analysed, None)
            if one.name.startswith("analyse")
        ]
    if {"stages", "embedding"} & {*parts}:
        with _ground(extra) as ground, enrich_site.opened(ground) as site:
            found.pieces = enrich_texts.measured(site.encoder, size.entries)
            if "stages" in parts:
                found.stages = enrich_stages.stages(site, size.entries)
            if "embedding" in parts:
                found.embedding = enrich_embed.embedding(
                    site, size.standing, size.texts
                )
                found.inserts = enrich_embed.inserts(site, size.inserted)
    if {"pipeline", "latency"} & {*parts}:
        with _ground(extra) as ground:
            counts = size.pipeline if entries is None else (entries,)
            _by_workers(found, ground, counts, size, parts)
    return found


@contextmanager
def _ground(extra: Mapping[str, str]) -> Iterator[Ground]:
    with rig.servers(**extra) as ground, rig.with_opensearch(ground):
        yield ground


def _by_workers(
    found: Found,
    ground: Ground,
    counts: Sequence[int],
    size: Size,
    parts: Sequence[str],
) -> None:
    settings = Settings.load(ground.environment)
    encoder: Encoder = load_encoder(
        model_names.choose_first_model(settings), settings.cache
    )
    with rig.serving(enrich_pipeline.COMMANDS, ground) as made:
        # Without it the latencies begin with an empty system, which none is for long.
        for count in counts:
            drafts = enrich_texts.drafts(encoder, count, name=f"p{count}")
            run = enrich_pipeline.run(made, ground.url, drafts, count)
            found.runs.append(run)
        if "latency" in parts:
            client = make_client(settings)
            assert client is not None
            more = enrich_texts.drafts(encoder, 10**6, name="l", seed=2)
            index = mapping.read_alias(settings.opensearch_index)
            found.latencies = enrich_latency.latencies(
                made, ground.url, client, index, more, size.latency_seconds
            )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.enrich", description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    for name in ("quick", "tiny"):
        text = f"a {name} run, which says little of a full one"
        sizes.add_argument(
            f"--{name}", dest="size", action="store_const", const=name, help=text
        )
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one")
    parser.add_argument(
        "--entries", type=int, help="how many go through the whole pipeline"
    )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    parser.set_defaults(size="full")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
