"""What cards and coverage add to a search, whether a card answers, whether chips do.

A device card is held against a plain reading of all texts: which entry tells of the
last trip, and whether anything behind it says that it is over. What is below its floor
ends with 1.
"""

import argparse
import random
import re
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bench import rig
from bench.answers_corpus import make_draft, read_events
from local import sample
from shared.access.cursors import Signer
from shared.access.scope import Scope
from shared.answers.answer_question import answer_question
from shared.answers.evaluate_suggestion import evaluate_suggestion, find_readiness
from shared.cards.make_cards import make_cards
from shared.embedding.load_model import load_encoder
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.embedding.vectors import embed_entry
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.absence import coverage
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking import fold
from shared.search.response.card import Card
from shared.search.response.end_search import Beside
from shared.search.response.search import carry_out_branches, search
from shared.search.results.conclude import conclude
from shared.search.results.result_page import read_page
from shared.search.retrieval.search_context import SearchContext
from shared.settings.settings import Settings
from shared.text.analysis.tokens import scan
from shared.text.facility.devices import Register, Thing
from shared.text.facility.facility import PLAIN, Facility
from shared.text.facility.incident_words import Own
from shared.times.calendar import Clock
from shared.vocabulary.expand import UNSTEMMED

SAMPLE, EVENTS = "sample", "events"
DEVICES = 20
_SIGNER = Signer(b"bench", 60)
LEAST_ANSWERED, MOST_ADDED_MS, MOST_CHIP_MS, CHIPS = 0.9, 10.0, 25.0, 500
LIMITS = PlanLimits(opensearch=False, any_word=True)
CLOCKS = {
    SAMPLE: Clock(now=datetime(2026, 5, 20, tzinfo=UTC), zone="Europe/Berlin"),
    EVENTS: Clock(now=datetime(2000, 1, 10, tzinfo=UTC), zone="America/New_York"),
}
# Written down apart from the product's own words, which are what is measured.
_TRIP = re.compile(
    r"\b(?:tripp?(?:ed|s|ing)?|scram(?:med)?|fault(?:ed|s)?|fail(?:ed|ure|s)|broke[n]?"
    r"|interlocks?|leak(?:s|ing)?|quench(?:ed)?|alarm|lost|dropped out|undicht|leck"
    r"|ausgefallen|ausfall|st\u00f6rung|defekt|out of service|crashed)\b",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"\b(?:back (?:on|in|to|online)|is back|restored|repaired|fixed|replaced|reset"
    r"|returned to service|cleared|recovered|running again|restarted|getauscht|ersetzt"
    r"|repariert|behoben|erneuert|l\u00e4uft (?:jetzt )?wieder|wieder)\b",
    re.IGNORECASE,
)
# As a facility of this kind adds to its words.
EVENT_WORDS: Own = (("trip", ("scram", "scrams", "scrammed", "lost")),)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")


@dataclass(frozen=True)
class Device:
    """A device of one logbook, and every way in which its texts write it."""

    tenant: str
    name: str
    spellings: tuple[str, ...]

    @property
    def question(self) -> str:
        """Return what an operator asks of it."""
        return f"When did {self.name} last trip, is it fixed?"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and end with 1 below a floor."""
    asked = _options(arguments)
    with _filled() as contexts:
        failures = [
            *_answered(contexts, show=asked.missed),
            *_added(contexts),
            *_chips(contexts[SAMPLE], asked.chips),
        ]
    if failures:
        print("\n".join(["below the floor:", *failures]), file=sys.stderr)
        raise SystemExit(1)


def _plan(context: SearchContext, device: Device, query: str, **more: Any) -> Plan:
    question = SearchQuery(query, **{"mode": "keyword", "any_word": True, **more})
    scope = Scope(device.tenant, "bench")
    return make_plan(question, scope, LIMITS, CLOCKS[device.tenant], context.facility)


def _answered(contexts: dict[str, SearchContext], *, show: bool) -> list[str]:
    """Print how many cards tell of the last trip, and whether that is over."""
    devices = [*_sample_devices(), *_plants()]
    right = []
    for device in devices:
        context = contexts[device.tenant]
        plan = _plan(context, device, device.question)
        answer = search(context, plan, Beside(make_cards=make_cards))
        card = next((one for one in answer.cards if one.type == "entity"), None)
        told = _told(card)
        truth = _truth(device)
        is_right = told[0] in truth.entries and (
            told[0] is None or told[1] == truth.is_over
        )
        right.append(is_right)
        if show and not is_right:
            print(device.tenant, device.name, told, truth, sep=" | ")
    share = statistics.fmean(right)
    print(f"device cards that answer: {sum(right)} of {len(right)} ({share:.2f})")
    return [f"cards that answer {share:.2f}"] if share < LEAST_ANSWERED else []


def _told(card: Card | None) -> tuple[str | None, bool | None]:
    """Return the entry of the last trip by a card, and whether it tells of a fix."""
    lines = {one.kind: one for one in reversed(card.lines)} if card else {}
    trip, fix = lines.get("last_trip"), lines.get("last_fix")
    if card is None or trip is None:
        return None, None
    is_fixed = card.state == "resolved" or (fix is not None and fix.time >= trip.time)
    return trip.permalink.rpartition("/")[2], is_fixed


@dataclass(frozen=True)
class _Truth:
    """The entries any of which tells of the last trip, and whether it is over."""

    entries: frozenset[str | None]
    is_over: bool | None = None


# By a reader of the sample logbook, who had not seen any card. Where a device never
# tripped and something else was wrong with it, both answers are right.
_BY_HAND: dict[str, tuple[list[str | None], bool | None]] = {
    "RFC2": (["OPS-20739"], True),
    "RFC3": (["OPS-20515", "OPS-20516"], True),
    "FE-09": (["OPS-20621", "BL-3387", "MT-8276", "OPS-20625"], True),
    "HX-2": (["OPS-20520", "MT-8188"], True),
    "ID-11": (["OPS-20547"], True),
    "ID07": ([None, "BL-3310"], True),
    "QF 9": (["OPS-20684"], True),
    "ID05": ([None], None),
    "IP14": (["OPS-20439", "MT-8130"], True),
    "QD16": (["OPS-20480"], True),
    "RF4": (["OPS-20567"], True),
    "RFC1": ([None], None),
    "RM-04": ([None], None),
    "UPS2": (["OPS-20432"], True),
    "AHU 3": ([None, "MT-8387", "MT-8124"], True),
    "BPM112": (["OPS-20524", "OPS-20525", "MT-8192"], True),
    "BPM41": (["OPS-20458", "OPS-20459"], True),
    "CB-1": (["OPS-20575"], True),
    "CT-2": ([None, "MT-8135"], True),
    "CV41": (["OPS-20529"], True),
}


def _truth(device: Device) -> _Truth:
    if device.name in _BY_HAND:
        entries, is_over = _BY_HAND[device.name]
        return _Truth(frozenset(entries), is_over)
    entry, is_over = _read_plainly(device)
    return _Truth(frozenset({entry}), is_over)


def _read_plainly(device: Device) -> tuple[str | None, bool | None]:
    """Return the same by a plain reading of every text, newest first."""
    named = re.compile(
        rf"(?<!\w)(?:{'|'.join(map(re.escape, device.spellings))})(?!\w)", re.IGNORECASE
    )
    rows = _rows(device.tenant)
    for row in rows:
        whole = f"{row['title']}\n{row['text']}"
        if not named.search(whole):
            continue
        is_titled = bool(named.search(row["title"]))
        said = [
            part
            for part in _SENTENCE.split(whole)
            if _TRIP.search(part) and (is_titled or named.search(part))
        ]
        if said:
            behind = [row, *_behind(row, rows, named)]
            is_over = any(_FIX.search(one["text"]) for one in behind)
            return row["external_id"], is_over
    return None, None


def _behind(
    row: dict[str, Any], rows: Sequence[dict[str, Any]], named: re.Pattern[str]
) -> list[dict[str, Any]]:
    return [
        one
        for one in rows
        if one["at"] > row["at"]
        and (one["reply_to"] == row["external_id"] or named.search(one["text"]))
    ]


def _added(contexts: dict[str, SearchContext]) -> list[str]:
    """Print what cards and coverage add to the end of a search, first and again."""
    added: dict[str, list[float]] = defaultdict(list)
    for device in [*_sample_devices(), *_plants()]:
        context = contexts[device.tenant]
        for query in (device.question, device.name, "why did the beam trip"):
            plan = _plan(context, device, query)
            ends_at = time.time() + 10
            conclusion = conclude(plan, carry_out_branches(context, plan, ends_at))
            runs = fold.group_runs(conclusion.ranked)
            page = read_page(context.pool, plan, runs, 1000)
            for when in ("first", "again", "again"):
                began = time.perf_counter()
                make_cards(context, plan, page, 1000)
                coverage.measure_beside_hits(
                    context.pool, plan, conclusion.branches, 1000
                )
                added[when].append((time.perf_counter() - began) * 1000)
    for when, values in added.items():
        print(f"cards and coverage, {when}: {_times(values)} (at most {MOST_ADDED_MS})")
    median = statistics.median(added["again"])
    return [f"cards add {median:.1f} ms"] if median > MOST_ADDED_MS else []


def _chips(context: SearchContext, count: int) -> list[str]:
    """Print how long chips take, and whether each viable one is answered when asked."""
    draw = random.Random(1)  # noqa: S311 - the same pages each time
    rows, devices = _rows(SAMPLE), _sample_devices()
    took: list[float] = []
    states: Counter[str] = Counter()
    failed: list[str] = []
    for _ in range(count):
        device = draw.choice(devices)
        title = draw.choice(rows)["title"]
        query = draw.choice(
            (
                device.question,
                f"What happened with {device.name}?",
                f"Why did {device.name} trip?",
                f"{device.name} {draw.choice(title.split())}",
                title,
            )
        )
        began = time.perf_counter()
        ready = find_readiness(context, Scope(SAMPLE, "bench"), {})
        found = evaluate_suggestion(
            context, _plan(context, device, query, synthesize=True), ready
        )
        took.append((time.perf_counter() - began) * 1000)
        states[found.state] += 1
        if found.viable:
            plan = _plan(context, device, query, mode="hybrid")
            told = search(context, plan, Beside(answer_question)).context_answer or {}
            if told.get("status") != "grounded":
                failed.append(f"{query}: {told.get('status')} {told.get('code')}")
    print(f"chips: {_times(took)} (at most {MOST_CHIP_MS}), {dict(states)}")
    print(f"viable chips that are not grounded when asked: {len(failed)}")
    for one in failed[:20]:
        print("  ", one)
    median = statistics.median(took)
    slow = [f"chips take {median:.1f} ms"] if median > MOST_CHIP_MS else []
    return [*slow, *([f"{len(failed)} chips fail"] if failed else [])]


def _sample_devices() -> list[Device]:
    """Return the devices that the sample logbook names in most entries."""
    counts: Counter[str] = Counter()
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for row in _rows(SAMPLE):
        found = {}
        whole = f"{row['title']}\n{row['text']}"
        for token in scan(whole, UNSTEMMED, PLAIN):
            if token.kind == "device" and token.is_name:
                found[token.term] = whole[token.start : token.end]
                written[token.term][whole[token.start : token.end]] += 1
        counts.update(found.keys())
    best = sorted(counts, key=lambda term: (-counts[term], term))[:DEVICES]
    return [
        Device(SAMPLE, written[term].most_common(1)[0][0], tuple(written[term]))
        for term in best
    ]


def _plants() -> list[Device]:
    """Return the plants that most events of 1999 are about."""
    counts = Counter(row["facility"] for row in read_events() if row["facility"])
    best = sorted(counts, key=lambda name: (-counts[name], name))[:DEVICES]
    return [Device(EVENTS, name.title(), (name,)) for name in best]


def _rows(tenant: str) -> list[dict[str, Any]]:
    """Return what a plain reader has of a logbook, newest first."""
    if tenant not in _READ:
        drafts = [*_drafts(tenant)]
        last = {one.external_id: one for one in drafts}
        _READ[tenant] = sorted(
            (
                {
                    "external_id": one.external_id,
                    "title": one.title,
                    "text": one.text,
                    "reply_to": one.reply_to,
                    "at": one.entry_time,
                }
                for one in last.values()
            ),
            key=lambda row: row["at"],
            reverse=True,
        )
    return _READ[tenant]


_READ: dict[str, list[dict[str, Any]]] = {}


def _drafts(tenant: str) -> Iterator[EntryDraft]:
    if tenant == SAMPLE:
        for page in sample.pages():
            yield from map(make_draft, page)
        return
    for row in read_events():
        title, _, text = row["event_text"].partition("\n")
        at = f"{row['notification_date']}T{row['notification_time'] or '12:00'}+00:00"
        facility = row["facility"] or row["licensee"] or ""
        yield EntryDraft(
            "nrc",
            str(row["event_number"]),
            row["event_text"] if text else title,
            title=f"{facility}: {title.strip()}",
            kind="incident",
            entry_time=datetime.fromisoformat(at),
        )


@contextmanager
def _filled() -> Iterator[dict[str, SearchContext]]:
    encoder = load_encoder(DEFAULT_MODEL, Settings.load({}).cache)
    plants = Register([Thing("device", one.name) for one in _plants()])
    events = replace(PLAIN, things=plants, incidents=EVENT_WORDS)
    facilities = {SAMPLE: PLAIN, EVENTS: events}
    with (
        rig.servers() as ground,
        make_pool(
            ground.url, application="bench", size=4, statement_timeout_ms=60_000
        ) as pool,
    ):
        for tenant, facility in facilities.items():
            drafts = [*_drafts(tenant)]
            for start in range(0, len(drafts), 100):
                _store(pool, tenant, drafts[start : start + 100], facility, encoder)
        with connection(pool) as conn:
            conn.execute("ANALYZE")
        yield {
            tenant: SearchContext(
                pool=pool,
                facility=facility,
                encoder=lambda _: encoder,
                signer=lambda: _SIGNER,
            )
            for tenant, facility in facilities.items()
        }


def _store(
    pool: Pool,
    tenant: str,
    drafts: Sequence[EntryDraft],
    facility: Facility,
    encoder: Any,
) -> None:
    with connection(pool) as conn:
        saved = save_page(conn, tenant, drafts, stages=[], editor="bench")
        ids = [one.entry_id for one in saved]
        table = ensure_table(conn, "bench", encoder.model, encoder.dimension)
        for content in read_entries.load_contents(conn, tenant, ids).values():
            metadata.store(conn, content, metadata.extract(content, None, facility))
            if tenant == SAMPLE:
                embed_entry.store_all(
                    conn,
                    table,
                    content.tenant,
                    [(content, embed_entry.embed(content, encoder))],
                )


def _times(values: Sequence[float]) -> str:
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
    return f"{statistics.median(values):.1f} ms p50, {p95:.1f} ms p95"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.cards", description=__doc__)
    parser.add_argument("--chips", type=int, default=CHIPS, help="how many are asked")
    parser.add_argument(
        "--missed", action="store_true", help="print what cards tell otherwise"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
