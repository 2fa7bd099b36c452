"""Logbooks of every kind as somebody adds them by hand, and the ledger of what came."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from tests.contract.stubs import (
    als,
    elog_files,
    elog_http,
    feed,
    generic_csv,
    generic_json,
    generic_rest,
    generic_sql,
    generic_xml,
    jlab,
    olog,
    ornl,
)
from tests.support.fixtures.system import ROOT
from workers.adapters.kit.stub import Stub, StubEntry, StubFile

# How a change is seen: by a poll, by the second one that lacks it, by comparing.
Seen = Literal["poll", "second poll", "reconcile", "never"]
KEPT = ROOT / "test-results" / "added_sources.txt"
_ZONE = ("--timezone", "Europe/Berlin")
_WHOLE = ("--set", "args.complete_snapshot=true")


@dataclass(frozen=True)
class Kind:
    """One kind of logbook: what imitates it, and what its user types."""

    make_stub: Callable[[], Stub]
    edits: Seen
    deletions: Seen
    # Behind the address; None: its server is known to nobody, and is described.
    options: Sequence[str] | None = ()
    has_replies: bool = True
    # Whether it has several logbooks, drafts, and messages that somebody edits.
    is_elog: bool = False
    # Whether its server hands out the files; else they are linked.
    has_files: bool = True


def _rest() -> generic_rest.RestStub:
    return generic_rest.RestStub(by_change=True, keeps_removed=True)


_CSV_MAP = generic_csv.CSVStub.args["columns"]
_XML_MAP = generic_xml.XMLStub.args["map"]


def _mapped(places: Mapping[str, str]) -> tuple[str, ...]:
    pairs = (("--map", f"{name}={place}") for name, place in places.items())
    return tuple(word for pair in pairs for word in pair)


KINDS: Mapping[str, Kind] = {
    "elog_http": Kind(elog_http.make_stub, "poll", "second poll", is_elog=True),
    # Without an elogd.cfg nothing of it is known to be open.
    "elog_files": Kind(
        elog_files.make_stub, "poll", "second poll", ("--readers", "*=*"), is_elog=True
    ),
    "olog": Kind(olog.make_stub, "reconcile", "never"),
    # Of these two an address alone tells nothing.
    "als": Kind(als.AlsStub, "reconcile", "reconcile", ("--adapter", "als")),
    "jlab": Kind(jlab.JLabStub, "reconcile", "reconcile"),
    "ornl": Kind(
        ornl.OrnlStub, "poll", "never", ("--adapter", "ornl", *_ZONE), has_replies=False
    ),
    "feed": Kind(feed.make_stub, "poll", "never", _ZONE, has_replies=False),
    "generic_csv": Kind(
        generic_csv.CSVStub,
        "poll",
        "reconcile",
        (
            *(*_ZONE, *_WHOLE, *_mapped(_CSV_MAP)),
            *("--time-format", "%d/%m/%Y %H:%M:%S.%f %z"),
            # Several files in one cell.
            *("--set", f"args.separator={generic_csv.CSVStub.args['separator']}"),
        ),
    ),
    "generic_json": Kind(
        generic_json.JSONLinesStub, "poll", "reconcile", (*_ZONE, *_WHOLE)
    ),
    "generic_xml": Kind(
        generic_xml.XMLStub, "poll", "reconcile", (*_ZONE, *_WHOLE, *_mapped(_XML_MAP))
    ),
    "generic_rest": Kind(_rest, "poll", "poll", None),
    "generic_sql": Kind(
        generic_sql.make_stub, "poll", "reconcile", None, has_files=False
    ),
}


@dataclass
class Logbook:
    """A logbook that people write, and what should be found of it."""

    name: str
    kind: Kind
    stub: Stub
    # By the id that the source gives: the text, and the files that can be fetched.
    texts: dict[str, str] = field(default_factory=dict)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    newest: int = 0
    # What is not to be seen yet: a draft, a message that somebody edits.
    unfinished: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """What its user types behind `source add`."""
        settings = self.stub.settings()
        args = settings.get("args", {})
        place = settings.get("base_url") or settings.get("path") or args["dsn"]
        words = [str(place), "--name", self.name, *(self.kind.options or ())]
        if self.kind.options is None:
            words += ["--adapter", settings["adapter"], *_ZONE]
            for key, value in args.items():
                words += ["--set", f"args.{key}={json.dumps(value)}"]
        if origins := settings.get("allowed_origins"):
            words += ["--set", f"allowed_origins={json.dumps(origins)}"]
        return words

    def fill(self, count: int) -> None:
        """Write so many entries of the last forty days, some with files or replies."""
        now = datetime.now(UTC).replace(microsecond=0)
        for place in range(count):
            age = timedelta(days=40) * (count - place) / count
            self.write(now - age - timedelta(hours=1), with_file=place % 8 == 3)
        if self.kind.is_elog:
            self._write_unfinished(now - timedelta(days=1))

    def write(self, time: datetime, *, with_file: bool = False) -> None:
        """Write one entry; every fifth replies to the one before."""
        self.newest = number = self.newest + 1
        replies = self.kind.has_replies and number % 5 == 0 and not with_file
        files = (_file(number, 0), _file(number, 1)) if with_file else ()
        entry = StubEntry(
            number,
            time.replace(microsecond=0),
            f"Shift note {number}",
            text_of(self.name, number),
            files=files,
            tags=("RF",),
            reply_to=number - 1 if replies else None,
        )
        if self.kind.is_elog and number % 10 == 3:
            # Nobody replies to it, and it replies to nobody.
            entry = replace(entry, logbook="RF")
        external_id = self.stub.add(entry)
        self.texts[external_id] = entry.text
        self.numbers[external_id] = number
        if files and self.kind.has_files:
            self.files[external_id] = {one.filename: one.content for one in files}

    def finish(self) -> None:
        """Let whoever writes or edits be done."""
        for external_id in self.unfinished:
            self._lock(external_id, None)
            assert self.stub.edit(external_id, draft=False) == external_id
        self.texts |= self.unfinished
        self.unfinished = {}

    def _write_unfinished(self, time: datetime) -> None:
        for is_draft in (True, False):
            self.newest = number = self.newest + 1
            text = text_of(self.name, number)
            entry = StubEntry(number, time, f"Note {number}", text, draft=is_draft)
            external_id = self.stub.add(entry)
            self.unfinished[external_id] = text
            if not is_draft:
                self._lock(external_id, "ana on console-3")

    def _lock(self, external_id: str, who: str | None) -> None:
        stub = self.stub
        assert isinstance(stub, elog_http.ElogServerStub | elog_files.ElogFolderStub)
        stub.logbooks.find(external_id).locked_by = who
        stub.edit(external_id)

    def edit(self, external_id: str) -> None:
        """Write another text over an entry without files or replies."""
        text = f"{self.texts[external_id]} Mended in the next shift."
        assert self.stub.edit(external_id, text=text) == external_id
        self.texts[external_id] = text

    def delete(self, external_id: str) -> None:
        """Delete an entry in its source; what cannot be seen to be gone stays."""
        if self.kind.deletions == "never":
            return
        self.stub.delete(external_id)
        del self.texts[external_id]

    def of_its_own(self, count: int) -> list[str]:
        """Return entries of last week without files, which nobody replies to.

        What no poll tells of is looked for in the entries of 14 days.
        """
        found = [
            one
            for one, number in self.numbers.items()
            if number % 5 in {1, 2} and one in self.texts and one not in self.files
        ]
        return found[-1 - count : -1]


def word_of(name: str, number: int) -> str:
    """Return a word that only one entry has."""
    return f"mark{name.replace('_', '')}{number}z"


def text_of(name: str, number: int) -> str:
    """Return a text unlike the others', with what a logbook has in it."""
    return (
        f"Cavity {number}: {word_of(name, number)} at {number * 3} mA.\n"
        f'Kühlwasser {number % 7} l/min, vacuum {number}e-9 mbar < limit & "ok".'
        + " Interlock chain read back and noted."
        * (40 if number % 11 == 0 else 1)
    )


def _file(number: int, place: int) -> StubFile:
    # No letters but these: another name is a file's own affair, not this test's.
    content = f"plot {place} of entry {number}\n".encode() * (1 + 400 * place)
    return StubFile(f"plot-{number}-{place}.txt", content)


@dataclass
class Line:
    """What is here of one logbook, held against what was written."""

    kind: str
    expected: int
    found: int
    missing: int
    too_many: int
    differing: int
    files: int
    files_right: int
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_right_texts(self) -> bool:
        """Whether every entry is here, as it was written, and no other."""
        return (self.missing, self.too_many, self.differing) == (0, 0, 0)

    @property
    def is_right(self) -> bool:
        """Whether all of it is here, as it was written, and nothing else."""
        return self.has_right_texts and self.files == self.files_right


def held_against(
    book: Logbook,
    found: Mapping[str, str],
    files: Mapping[str, Mapping[str, bytes]],
    seconds: Mapping[str, float],
) -> Line:
    """Compare texts line by line but for what ends them, and files byte by byte."""
    both = book.texts.keys() & found.keys()
    return Line(
        book.name,
        len(book.texts),
        len(found),
        len(book.texts.keys() - found.keys()),
        len(found.keys() - book.texts.keys()),
        sum(_lines(book.texts[one]) != _lines(found[one]) for one in both),
        sum(map(len, book.files.values())),
        sum(
            files.get(one, {}).get(name) == content
            for one, of_entry in book.files.items()
            for name, content in of_entry.items()
        ),
        seconds,
    )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def show(lines: Sequence[Line]) -> None:
    """Print the ledger, and keep it for whoever looks later."""
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(f"{table(lines)}\n", "utf-8")
    print(f"\n{table(lines)}")


def table(lines: Sequence[Line]) -> str:
    """Return the ledger as a person reads it."""
    steps = list(dict.fromkeys(step for one in lines for step in one.seconds))
    head = ("kind", "expected", "found", "missing", "too many", "differing", "files")
    rows = [(*head, *steps)]
    for one in lines:
        counts = one.expected, one.found, one.missing, one.too_many, one.differing
        times = (one.seconds.get(step) for step in steps)
        rows.append(
            (
                one.kind,
                *map(str, counts),
                f"{one.files_right}/{one.files}",
                *("-" if took is None else f"{took:.1f} s" for took in times),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
