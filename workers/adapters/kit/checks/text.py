"""Rows about texts: charsets, escapes, and what is missing or far too much."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from shared.entries.draft import EntryDraft
from shared.errors import MalformedEntryError
from workers.adapters.kit.reading import START, KitReading, reading, says
from workers.adapters.kit.stub import StubEntry

# What is on the wire, and what is read; None: whatever is read keeps its ASCII.
_BYTES: dict[str, tuple[bytes, str | None]] = {
    "UTF-8": ("Größe 3 µm, 温度".encode(), "Größe 3 µm, 温度"),
    "cp1252": (b"Gr\xf6\xdfe 3 \x80 \x93hot\x94", "Größe 3 € “hot”"),
    "latin-1": (b"Temp\xe9rature \xb1 2\xb0", "Température ± 2°"),
    "broken UTF-8": (b"begin \xc3\xa9 \xc3( \xff end", None),
    "not even cp1252": (b"begin \x81\x8d\x8f \xff end", None),
}
_TEXTS: dict[str, str] = {
    "emoji": "Beam is back 🎉 👩🏽‍🔬",
    "right to left": "התחלה اختبار text",
    "combining": "A\u030angstro\u0308m",
    "line ends": "one\ntwo\n\nfour",
}
_UNSTORABLE: dict[str, str] = {
    "NUL": "begin \x00 end",
    "a lone surrogate": "begin \ud800 end",
}
_ESCAPES = (
    "x &lt; y and &amp;lt; stays",
    "Fish &amp; chips &amp;amp; more",
    "AT&T, 5 > 3 &nosuch; &",
)
_LOOKS_LIKE_MARKUP = "If a<b and c>d then <PSS> [b]is[/b] *not* _set_ {x} %5B # 1"
_OVERSIZED_KEYS = 10_000
_OVERSIZED_TAGS = 200


def charsets(reading_: KitReading) -> None:
    """ADP17: text arrives as it was written, in whatever charset; nothing is lost."""
    for label, (data, expected) in _BYTES.items():
        draft = _read_bytes(reading_, data)
        if draft is None:
            continue
        if expected is not None:
            # A source may declare UTF-8 and send something else.
            is_repaired = "repaired" in draft.flags and "\ufffd" in draft.text
            assert says(draft, expected) or is_repaired, f"{label}: {draft.text!r}"
        assert "end" in draft.text or expected is not None, f"{label}: {draft.text!r}"
        _check_storable(draft)
    for text, draft in _read_texts(reading_, _TEXTS.values()):
        assert says(draft, text), f"{text!r} came as {draft.text!r}"
        assert draft.title.strip() == text.replace("\n", " "), draft.title
    for label, text in _UNSTORABLE.items():
        draft = _read_new(reading_, text=text)
        assert draft.text.startswith("begin"), label
        assert draft.text.rstrip().endswith("end"), f"{label}: {draft.text!r}"
        _check_storable(draft)


def escapes(reading_: KitReading) -> None:
    """ADP18: what was escaped on the way is unescaped as often, and no oftener."""
    for text, draft in _read_texts(reading_, (*_ESCAPES, _LOOKS_LIKE_MARKUP)):
        assert says(draft, text), f"{text!r} came as {draft.text!r}"
    draft = _read_new(reading_, title="Gate &amp; trigger: a<b, [x]")
    assert draft.title.strip() in {
        "Gate &amp; trigger: a<b, [x]",
        # A title that is HTML in its source is text here.
        "Gate & trigger: a<b, [x]",
    }


def missing_and_oversized(reading_: KitReading) -> None:
    """ADP20: what is missing is legal, what is too much costs itself or is cut."""
    draft = _read_new(reading_, author=None)
    assert "" not in draft.authors, "nobody is no author"
    draft = _read_new(reading_, title="")
    assert draft.text.strip()
    draft = _read_new(reading_, text="")
    assert draft.title.strip()
    with reading(reading_.subject) as other:
        empty = other.stub.add(StubEntry(number=1, time=START, title="", text=""))
        refusal = other.refused(other.item(empty))
        assert refusal is not None, "neither title nor text"
        assert refusal.reason == "empty_entry"
    _check_sizes(reading_)
    draft = _read_new(
        reading_, tags=tuple(f"tag{n:03d}" for n in range(_OVERSIZED_TAGS))
    )
    assert len(draft.tags) <= reading_.limits.max_tags
    wide = {f"key{n:05d}": "value" for n in range(_OVERSIZED_KEYS)}
    draft = _read_new(reading_, metadata=wide)
    assert len(draft.metadata) <= reading_.limits.max_metadata_keys
    kept = sum(1 for key in draft.metadata if key.startswith("key"))
    assert kept == 0 or "metadata_overflow" in draft.flags


def _check_sizes(reading_: KitReading) -> None:
    title = "Title"
    most = reading_.limits.max_entry_bytes - len(title)
    for size, fits in ((most, True), (most + 1, False)):
        text = "x" * size
        with reading(reading_.subject) as other:
            entry = StubEntry(number=1, time=START, title=title, text=text)
            item = other.item(other.stub.add(entry))
            found = len(other.open().adapter.parse(item).text)
            refusal = other.refused(item)
        if found < size:
            # The source itself holds no more.
            continue
        if fits and found == size:
            assert refusal is None, f"{size} bytes are allowed: {refusal}"
        else:
            assert refusal is not None, f"{size} bytes are too many"
            assert refusal.reason == "too_large"


def _read_new(reading_: KitReading, **given: Any) -> EntryDraft:
    """Return the draft of one entry in a source of its own."""
    entry = replace(StubEntry(number=1, time=START, title="T", text="Text"), **given)
    with reading(reading_.subject) as other:
        return other.read_added(entry)


def _read_texts(
    reading_: KitReading, texts: Iterable[str]
) -> Iterator[tuple[str, EntryDraft]]:
    """Yield what is read of entries that have these texts, and titles of one line."""
    added = {
        reading_.stub.add(
            StubEntry(
                reading_.number(), START, title=text.replace("\n", " "), text=text
            )
        ): text
        for text in texts
    }
    items = reading_.items()
    for external_id, text in added.items():
        yield text, reading_.read(items[external_id])


def _read_bytes(reading_: KitReading, data: bytes) -> EntryDraft | None:
    """Return the draft read from raw bytes; None if the source cannot send bytes."""
    with reading(reading_.subject) as other:
        external_id = other.stub.add(StubEntry(number=1, time=START))
        try:
            other.stub.set_bytes(external_id, "text", data)
        except LookupError:
            return None
        try:
            return other.read(other.item(external_id))
        except MalformedEntryError as exc:
            raise AssertionError(f"{data!r} costs no entry: {exc}") from exc


def _check_storable(draft: EntryDraft) -> None:
    assert "\x00" not in draft.text
    draft.text.encode("utf-8")
