"""A hit in the terminal: what is told of it beside its text."""

import sys
from typing import Any
from zoneinfo import ZoneInfo

import click
import pytest

from api.cli.render.text_layout import cells
from api.cli.search import absence, debug
from api.cli.search import facets as search_facets
from api.cli.search.answer import branch_told
from api.cli.search.hit import HitLayout, render_hit

HIT: dict[str, Any] = {
    "title": "RF",
    "rank": 1,
    "relevance_score": 0.9,
    "logbooks": [],
    "source": "operations",
    "external_id": "1",
    "entry_time": "2026-03-02T05:31:00Z",
    "author": None,
    "found_by": ["os_bm25"],
    "similar_count": 0,
    "highlights": [],
    "content": "QF1 current 3.2 A",
}


def page(width: int = 88, zone: str = "Europe/Berlin") -> HitLayout:
    return HitLayout(ZoneInfo(zone), width, width)


def lines(width: int = 88, *, explain: bool = False, **fields: Any) -> list[str]:
    told = render_hit({**HIT, **fields}, page(width), explain=explain)
    return click.unstyle(told).splitlines()


def test_a_value_that_is_not_the_newest_is_told_with_the_newest() -> None:
    other = {
        "device": "qf 1",
        "parameter": "current",
        "dimension": "current",
        "unit": "A",
        "stated": 3.2,
        "value": 3.5,
        "entry_id": "x",
        "source": "operations",
        "external_id": "2",
        "time": "2026-03-04T05:31:00Z",
    }
    (told,) = [one for one in lines(200, superseded_by=[other]) if "superseded" in one]
    assert [part.strip() for part in told.split("\u00b7")] == [
        "superseded: current of qf 1",
        "3.2 A is 3.5 A",
        "since 2026-03-04 06:31 CET (05:31 UTC)",
        "operations/2",
    ]
    # An older server does not tell; and of nothing nothing is said.
    assert lines() == lines(superseded_by=[])


def test_of_nothing_found_the_time_that_each_source_covers_is_told() -> None:
    gap = {"start": "2026-02-01T00:00:00Z", "end": None}
    whole = {
        "source": "operations",
        "complete_from": "2020-01-01T00:00:00Z",
        "complete_to": "2026-03-01T00:00:00Z",
        "lag_seconds": 3.0,
        "gaps": [],
    }
    pushed = {**whole, "source": "api", "complete_from": None, "complete_to": None}
    torn = {**whole, "source": "elog", "complete_from": None, "gaps": [gap, gap]}
    answer = {
        "answer": None,
        "context_answer": {
            "summary": "Nothing was found.",
            "status": "insufficient",
            "grade": "D",
            "code": "no_results",
        },
        "coverage": {"sources": [whole, pushed, torn, *[whole] * 4], "nearest": []},
    }

    first, last = "2020-01-01 00:00 UTC", "2026-03-01 00:00 UTC"
    told = [*map(click.unstyle, absence.lines(answer, page(zone="UTC")))]

    assert told[:4] == [
        "Nothing was found.",
        "answer    insufficient \u00b7 grade D \u00b7 no_results",
        f"searched  operations, complete from {first} to {last}",
        f"searched  elog, what was new until {last}, but for 2 gaps",
    ]
    assert told[7:] == ["searched  and 1 more: --json has all", ""]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"status": "ok", "candidates": 7}, "semantic ok 7"),
        ({"status": "skipped", "reason": "language"}, "semantic skipped (language)"),
        ({"status": "error", "error_code": "x", "reason": "y"}, "semantic error (x)"),
        ({"status": "empty", "fallback_for": "a"}, "semantic for a empty"),
    ],
)
def test_a_part_of_a_search_that_was_not_carried_out_says_why(fields, told) -> None:
    nothing = dict.fromkeys(("error_code", "reason", "fallback_for"))
    one = {"name": "semantic", "candidates": 0, **nothing, **fields}
    assert click.unstyle(branch_told(one)) == told


SCORED: dict[str, Any] = {
    "calibration": "linear_map",
    "confidence": "medium",
    "ranks": {"os_bm25": 1, "semantic": 4},
    "contrib": {"os_bm25": 0.0164, "semantic": 0.0156},
    "scores": {"bm25": 3.434, "cosine": 0.4994, "rrf": 0.0320},
    "factors": {"graph_gravity": 1.13861, "origin": 0.7},
}


def test_a_hit_explains_its_place_only_when_asked() -> None:
    told = lines(explain=True, **SCORED)
    assert [one.strip() for one in told if one not in lines(**SCORED)] == [
        "score     0.9000 by linear_map \u00b7 confidence medium",
        "place     1 of os_bm25 \u00b7 worth 0.0164",
        "place     4 of semantic \u00b7 worth 0.0156",
        "raw       bm25 3.434 \u00b7 cosine 0.4994 \u00b7 rrf 0.032",
        "factors   graph_gravity x 1.139 \u00b7 origin x 0.7",
    ]


@pytest.mark.parametrize("width", [30, 40, 60, 88])
@pytest.mark.parametrize(
    "title",
    [
        "Re: " * 30,
        "\u771f\u7a7a\u8a08\u304c\u4e0a\u304c\u3063\u305f" * 9,
        "SR:C12-VA:" * 9,
        "",
    ],
)
def test_no_line_of_a_hit_is_wider_than_the_terminal(width: int, title: str) -> None:
    hit = {
        **SCORED,
        "title": title,
        "author": title,
        "logbooks": [title],
        "content": title,
        "rank": 100,
    }
    told = lines(width, explain=True, **hit)
    assert [one for one in told if cells(one) > width] == []
    assert any("0.90" in one for one in told[:12])


def test_for_a_program_that_reads_lines_a_title_is_one() -> None:
    endless = HitLayout(ZoneInfo("UTC"), sys.maxsize, 88)
    head = click.unstyle(
        render_hit({**HIT, "title": "long " * 60}, endless)
    ).splitlines()[0]
    assert head == f" 1. {'long ' * 59}long  0.90"


BRANCH = {
    "name": "semantic",
    "status": "ok",
    "queued_ms": 25.0,
    "took_ms": 75.0,
    "attempts": 1,
}
DEBUGGED = {
    "plan": {
        "context_boosts": {"graph_gravity": 1.2, "origin": 0.7},
        "query": "q " * 99,
    },
    "branches": [BRANCH, {**BRANCH, "name": "os_bm25", "took_ms": 25.0, "attempts": 2}],
    "search_duration_ms": 100.0,
    "timings_ms": {"rank": 0.5, "facts": 16.5, "hydrate": 13.5, "total": 100.0},
    "results": [{"entry_id": "x", "source": "operations", "external_id": "OPS-1"}],
    "score_trace": [
        {
            "entry_id": "x",
            "calibrated": 0.58,
            "calibration": "linear_map",
            "fused": 0.35,
            "factors": {"graph_gravity": 1.13861},
            "steps": ["Filtering: linear_map 0.58, medium"],
        }
    ],
}


@pytest.mark.parametrize("width", [30, 40, 60, 88, sys.maxsize])
def test_the_plan_the_branches_and_the_factors_fit_the_terminal(width: int) -> None:
    told = list(debug.lines(DEBUGGED, width))
    assert [one for one in told if cells(one) > width] == []
    bars = [one.partition("|")[2].partition("|")[0] for one in told if "|" in one]
    assert len({len(one) for one in bars}) == 1
    # A quarter of the time in the queue, and the rest of it at work.
    length = len(bars[0])
    assert abs(bars[0].count(".") - length / 4) <= 1
    assert abs(bars[0].count("#") - length * 3 / 4) <= 1
    assert any("operations/OPS-1" in one for one in told)
    assert "graph_gravity 1.13861" in " ".join(" ".join(told).split())
    said = " ".join(" ".join(told).split())
    assert "asked twice" in said
    # The product is what the map is of, and not the score itself.
    assert "0.5800 = linear_map of 0.3500 x graph_gravity" in said


@pytest.mark.parametrize("width", [30, 40, 88])
def test_counts_of_names_in_any_alphabet_stand_below_each_other(width: int) -> None:
    names = ["RF", "\u771f\u7a7a" * 20, "a" * 60]
    values = [{"value": name, "count": 10**n} for n, name in enumerate(names)]
    facets = {"system": {"exact": True, "values": values, "more": False}}
    told = [click.unstyle(one) for one in search_facets.lines(facets, page(width))]
    assert [one for one in told if cells(one) > width] == []
    for count, line in zip((1, 10, 100), told[1:4], strict=True):
        assert f" {count}" in line


@pytest.mark.parametrize("width", [30, 60, sys.maxsize])
def test_what_each_word_became_fits_the_terminal(width: int) -> None:
    of_all = {"languages": ["en", "de"], "negated": False}
    term = {"word": "inj*", "how": "pattern", "idents": [], **of_all}
    body = {"query": {"bool": {"should": [{"terms": {"stream": ["inject"] * 9}}]}}}
    plan = {
        "time": {
            "inferred": True,
            "applied": [
                {
                    "expression": "since June",
                    "field": "entry_time",
                    "from": "2024-05-31T22:00:00Z",
                    "to": None,
                }
            ],
        },
        "terms": [{**term, "terms": [f"inject{n}" for n in range(25)]}],
        "phrases": [{**of_all, "places": [["beam"], ["dump", "dumps"]]}],
        "tsquery": [{"languages": ["en", "de"], "query": "'inject' & 'beam' " * 9}],
        "opensearch_query": body,
    }
    told = list(debug.lines({**DEBUGGED, "plan": plan}, width))
    assert [one for one in told if cells(one) > width] == []
    said = " ".join(" ".join(told).split())
    assert "read from since June: entry_time 2024-05-31T22:00:00Z to ..." in said
    assert "inj* (pattern) -> inject0 | inject1 |" in said
    assert "| inject19 | 5 more" in said
    assert "phrase -> beam (dump | dumps)" in said
