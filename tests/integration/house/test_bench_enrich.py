"""The bench of enrichment runs, small; its numbers are judged by people."""

import secrets
import statistics
from pathlib import Path

import pytest
from rich.console import Console

from bench import (
    enrich,
    enrich_embed,
    enrich_site,
    enrich_stages,
    enrich_tables,
    enrich_texts,
)
from bench.enrich_numbers import Found
from bench.rig import Ground
from shared.embedding.models.hashing_encoder import HashingEncoder
from tests.support.faults.measures.size import QUICK_VECTORS


@pytest.fixture
def ground(database, valkey, opensearch, place) -> Ground:
    environment = {
        "DATABASE_URL": database,
        "BROKER_URL": valkey.url,
        "OPENSEARCH_URL": opensearch.url,
        "OPENSEARCH_INDEX": f"test_{secrets.token_hex(6)}",
        "LOGCHORD_CACHE": str(place.cache),
        **QUICK_VECTORS,
    }
    return Ground(Path(), database, environment, {})


@pytest.mark.timeout(180)
def test_every_stage_is_measured_beside_what_it_is_held_against(ground):
    found = Found((0.0, 0.0, 0.0))
    with enrich_site.opened(ground) as site:
        found.stages = enrich_stages.stages(site, 30)
        found.embedding = enrich_embed.embedding(site, 10, 16)
        found.inserts = enrich_embed.inserts(site, 12)
        assert site.ctx.opensearch is not None
        base = site.ctx.settings.opensearch_index
        site.ctx.opensearch.indices.delete(index=f"{base}-v*")

    assert [one.name for one in found.stages[:3]] == ["metadata", "duplicates", "index"]
    assert all(one.entries == 30 for one in found.stages)
    assert [(one.pieces, one.way) for one in found.embedding] == list(enrich_embed.AIMS)
    # Each text of the four rounds has a vector, and so has what stood there before.
    assert found.embedding[-1].rows == 1 + 4 + 16 + 4 + 16
    assert [one.rows for one in found.inserts] == [12] * len(enrich_embed.ORDERS)
    printed = Console(record=True, width=120)
    enrich_tables.show(printed, found)
    assert "of the bare client" in printed.export_text()


def test_lengths_are_those_of_a_control_room():
    encoder = HashingEncoder()
    drawn = list(enrich_texts.lengths(4000))
    assert statistics.median(drawn) == pytest.approx(enrich_texts.MEDIAN_PIECES, abs=4)
    p95 = statistics.quantiles(drawn, n=20)[18]
    assert p95 == pytest.approx(enrich_texts.P95_PIECES, rel=0.1)
    texts = [one.text for one in enrich_texts.drafts(encoder, 40)]
    assert [encoder.count_tokens(text) for text in texts] == list(
        enrich_texts.lengths(40)
    )
    assert len(set(texts)) == 40


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_by_workers_names_its_slowest_stage_and_what_each_kind_took():
    size = enrich.SIZES["tiny"]
    found = enrich.measure(size, ("pipeline", "latency"), extra=QUICK_VECTORS)

    (run,) = found.runs
    assert run.quarantined == 0
    assert run.slowest in {one.name for one in run.stages}
    assert {"enhance.embed", "enhance.metadata,index", "ingest"} <= {
        one.kind for one in run.memory
    }
    assert all(one.never == 0 for one in found.latencies)
