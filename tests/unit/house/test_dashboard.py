"""The example dashboard asks for figures that there are."""

import ast
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
DASHBOARD = ROOT / "compose" / "grafana-dashboard.json"
# What Prometheus makes of one figure.
PARTS = {"Histogram": ("_bucket", "_count", "_sum"), "Counter": ("",), "Gauge": ("",)}
ASKED = re.compile(r"\blogchord_[a-z_]+")
GROUPED = re.compile(r"by \(([a-z, ]+)\)")
SHOWN = re.compile(r"\{\{([a-z]+)\}\}")


def exported() -> set[str]:
    """Every series of an API process and a worker, read from their code."""
    names: set[str] = set()
    for path in ("api/server/metrics.py", "workers/runtime/worker_metrics.py"):
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Tuple) and node.elts:
                # The table of what each stage shows.
                names |= set(texts(node.elts[:1]))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                parts = PARTS.get(node.func.id, ())
                names |= {
                    text + part for text in texts(node.args[:1]) for part in parts
                }
    return names


def texts(nodes: list[ast.expr]) -> list[str]:
    return [
        one.value
        for one in nodes
        if isinstance(one, ast.Constant)
        and isinstance(one.value, str)
        and one.value.startswith("logchord_")
    ]


def queries() -> list[tuple[str, dict[str, str]]]:
    told: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return [
        (panel["title"], target)
        for panel in told["panels"]
        for target in panel.get("targets", ())
    ]


def test_every_query_of_the_dashboard_names_a_figure_that_is_exported() -> None:
    known = exported()
    assert len(known) > 20
    wrong = {
        title: unknown
        for title, target in queries()
        if (unknown := set(ASKED.findall(target["expr"])) - known)
    }
    assert wrong == {}
    assert all(ASKED.search(target["expr"]) for _, target in queries())


def test_what_a_line_is_called_by_is_what_the_query_groups_by() -> None:
    for title, target in queries():
        (groups,) = GROUPED.findall(target["expr"])
        labels = set(groups.split(", ")) - {"le"}
        assert set(SHOWN.findall(target["legendFormat"])) == labels, title


def test_searches_are_shown_by_branch_and_by_how_they_ended() -> None:
    asked = " ".join(target["expr"] for _, target in queries())
    assert {"logchord_branch_seconds_bucket", "logchord_jobs_total"} <= set(
        ASKED.findall(asked)
    )
