"""What the page costs: its paints on a slow machine, and its times beside REST.

A Chromium slowed four times loads the page over a logbook of many entries; then the
same question is asked of the page and of REST in turns. What is above its budget ends
with 1.
"""

import argparse
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from typing import Any

import httpx2
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from api.web.search_form import SearchForm
from bench import search_stack
from bench.keep_results import keep_results
from bench.search_stack import Stack

ENTRIES, QUICK_ENTRIES = 100_000, 1000
LOADS, SAMPLES, QUICK_LOADS, QUICK_SAMPLES = 15, 100, 3, 20
WARM_UP = 20
SLOWED = 4
# As the specification of the page has them; milliseconds, but for the shift.
PAINTS = {"FCP": 300.0, "LCP": 600.0, "CLS": 0.02, "INP": 100.0}
SEARCH, MORE_THAN_REST, P50, P95, OTHERS = "/search", "page - REST", 40.0, 90.0, 15.0
MOST_MORE = 10.0
OTHER_PAGES = ("/", "/live", "/digest", "/sources", "/status", "/help", "entry")
_KEYS = 8
# Registered before the page's own code: what is painted first is not missed.
_OBSERVE = """
window.seen = {CLS: 0, INP: 0};
new PerformanceObserver(list => {
  for (const one of list.getEntries())
    if (one.name === 'first-contentful-paint') seen.FCP = one.startTime;
}).observe({type: 'paint', buffered: true});
new PerformanceObserver(list => {
  for (const one of list.getEntries()) seen.LCP = one.startTime;
}).observe({type: 'largest-contentful-paint', buffered: true});
new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) seen.CLS += one.value;
}).observe({type: 'layout-shift', buffered: true});
new PerformanceObserver(list => {
  for (const one of list.getEntries()) seen.INP = Math.max(seen.INP, one.duration);
}).observe({type: 'event', durationThreshold: 16, buffered: true});
"""
# The page's own policy forbids the browser to wait for an expression.
_PAINTED = """
new Promise(done => {
  const look = () => seen.FCP && seen.LCP ? done() : requestAnimationFrame(look);
  look();
})
"""
# Two frames behind the last key: the browser has told of it by then.
_SETTLE = (
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
)


@dataclass(frozen=True)
class Row:
    """One number of a page beside its budget."""

    page: str
    what: str
    value: float
    budget: float | None = None

    @property
    def is_kept(self) -> bool:
        """Tell whether the number is within its budget."""
        return self.budget is None or self.value <= self.budget


def main() -> int:
    """Measure, print a table, keep the numbers; 1: a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--quick", action="store_true", help="few entries, few samples")
    given = parser.parse_args()
    entries = QUICK_ENTRIES if given.quick else given.entries
    loads, samples = (QUICK_LOADS, QUICK_SAMPLES) if given.quick else (LOADS, SAMPLES)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print("bench-page: no Chromium here", file=sys.stderr)
        return 1
    with search_stack.opened(entries) as stack:
        with httpx2.Client(**stack.http()) as client:
            rows = [*_times(stack, client, samples)]
            entry = _entry(stack, client)
        with _browser(chromium, stack) as open_page:
            for path in ("/", f"/search?q={_question(stack)}", entry):
                rows += _paints(open_page, path, loads)
    _show(rows, entries)
    keep_results("page", entries=entries, rows=[asdict(one) for one in rows])
    return 0 if all(one.is_kept for one in rows) else 1


def _question(stack: Stack) -> str:
    n = stack.fresh()
    return f"not enough flow of cooling water number {n} at BPM{n % 60:03d}"


def _entry(stack: Stack, client: httpx2.Client) -> str:
    body = {"query": _question(stack)}
    found = client.post("/v1/search/query", json=body).raise_for_status().json()
    return str(found["results"][0]["permalink"])


def _times(stack: Stack, client: httpx2.Client, samples: int) -> Iterator[Row]:
    """Yield how long pages take: searches in turns with REST, then the others."""

    def ask(q: str) -> None:
        asked = SearchForm(q=q).request().model_dump(mode="json", exclude_none=True)
        client.post("/v1/search/query", json=asked).raise_for_status()

    def show(q: str) -> None:
        client.get(SEARCH, params={"q": q}).raise_for_status()

    took: dict[str, list[float]] = {"first byte": [], "whole": [], "REST": []}
    for number, way in zip(range(WARM_UP + 3 * samples), cycle(took), strict=False):
        question = _question(stack)
        began = time.perf_counter()
        if way == "first byte":
            with client.stream("GET", SEARCH, params={"q": question}) as answer:
                next(answer.iter_raw())
                spent = time.perf_counter() - began
        else:
            (show if way == "whole" else ask)(question)
            spent = time.perf_counter() - began
        if number >= WARM_UP:
            took[way].append(1000 * spent)
    for way, values in took.items():
        budgets = (P50, P95) if way == "whole" else (None, None)
        yield from _quantiles(SEARCH, way, values, budgets)
    more = statistics.median(took["first byte"]) - statistics.median(took["REST"])
    yield Row(SEARCH, MORE_THAN_REST, round(more, 1), MOST_MORE)
    entry = _entry(stack, client)
    for page in OTHER_PAGES:
        once = partial(client.get, entry if page == "entry" else page)
        yield from _quantiles(page, "whole", _repeated(once, samples), (OTHERS, None))


def _repeated(once: Callable[[], httpx2.Response], samples: int) -> list[float]:
    took = []
    for _ in range(WARM_UP + samples):
        began = time.perf_counter()
        once().raise_for_status()
        took.append(1000 * (time.perf_counter() - began))
    return took[WARM_UP:]


def _quantiles(
    page: str,
    way: str,
    values: Sequence[float],
    budgets: tuple[float | None, float | None],
) -> Iterator[Row]:
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    for name, at, budget in zip(("p50", "p95"), (9, 18), budgets, strict=True):
        yield Row(page, f"{way}, {name}", round(cuts[at], 1), budget)


@contextmanager
def _browser(chromium: str, stack: Stack) -> Iterator[Callable[[], Page]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        address = stack.http()

        def open_page() -> Page:
            # Nothing is kept from the load before: each is a first one.
            context = browser.new_context(
                base_url=address["base_url"], extra_http_headers=address["headers"]
            )
            page = context.new_page()
            page.add_init_script(_OBSERVE)
            slow = context.new_cdp_session(page)
            slow.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
            return page

        yield open_page
        browser.close()


def _paints(open_page: Callable[[], Page], path: str, loads: int) -> Iterator[Row]:
    seen: list[Mapping[str, Any]] = []
    for _ in range(loads):
        page = open_page()
        page.goto(path, wait_until="load")
        # From the first key on the browser tells of no larger paint any more.
        page.evaluate(_PAINTED)
        for _ in range(_KEYS):
            page.keyboard.press("j")
        page.evaluate(_SETTLE)
        seen.append(page.evaluate("window.seen"))
        page.context.close()
    name = path.partition("?")[0]
    name = "entry" if name.startswith("/e/") else name
    for what, budget in PAINTS.items():
        value = statistics.median(float(one[what]) for one in seen)
        yield Row(name, f"{what}, CPU / {SLOWED}", round(value, 3), budget)


def _show(rows: Sequence[Row], entries: int) -> None:
    table = Table(title=f"The page over {entries} entries, medians in ms")
    for column in ("page", "what", "value", "budget", ""):
        table.add_column(
            column, justify="left" if column in {"page", "what"} else "right"
        )
    for one in rows:
        budget = "" if one.budget is None else f"{one.budget:g}"
        table.add_row(
            one.page, one.what, f"{one.value:g}", budget, "" if one.is_kept else "above"
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    sys.exit(main())
