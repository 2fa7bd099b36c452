"""A record of any shape becomes an entry: which field stands where, and how it reads.

For JSON the places are pointers (or plain names of keys), for tables the columns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from shared import entry_fields
from shared.adapter_contract.contract import Source
from shared.adapter_contract.entry import Entry, TextFormat
from shared.adapter_contract.mapped_record import MappedRecord
from shared.errors import MalformedEntryError
from shared.times import source_times
from workers.adapters.mapping import field_values as values
from workers.adapters.mapping.field_values import malformed, plain
from workers.adapters.mapping.map_settings import (
    LISTS,
    METADATA,
    TIMES,
    WHOLE,
    MapArgs,
    Selector,
    Times,
    by_field,
    canonical,
    each,
)
from workers.adapters.mapping.pointer import Pointer

# Without the lists, which need the source's separator.
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "external_id": values.text,
    "title": values.text,
    "text": values.text,
    "text_format": values.text_format,
    "version": values.word,
    "authors": values.names,
    "editor": values.word,
    **dict.fromkeys(entry_fields.NAMES, values.word),
    "language": values.word,
    "kind": values.kind,
    "origin": values.origin,
    "reply_to": values.parent,
    "supersedes": values.parent,
    "thread_key": values.parent,
    "url": values.word,
    "deleted": values.deleted,
}


@dataclass(frozen=True, slots=True)
class _MappedField:
    """One field, and the places of its parts."""

    name: str
    pointers: tuple[Pointer, ...]
    # Where it is one key of the record, which is found without walking.
    key: str | None
    read: Callable[[Any], Any]

    @property
    def may_differ(self) -> bool:
        """Tell whether the value may become metadata, or leave its field to it."""
        return self.name in _MAY_BE_ODD or self.name.startswith("metadata")

    def pick(self, record: dict[str, Any]) -> Any:
        """Return the value as found, or None."""
        if self.name in LISTS:
            found = [each for at in self.pointers if (each := at.listed(record))]
            return found[0] if len(found) == 1 else values.Parts(found) or None
        if len(self.pointers) == 1:
            return self.pointers[0].first(record)
        parts = [plain(pointer.first(record)) for pointer in self.pointers]
        if self.name in WHOLE and "" in parts:
            return None
        joint = "/" if self.name == "external_id" else " "
        return joint.join(filter(None, parts)) or None


class FieldMap:
    """Reads the records of one source; what no field claims becomes metadata."""

    def __init__(
        self,
        fields: Mapping[str, Selector],
        *,
        times: Times | None = None,
        separator: str = ",",
        text_format: TextFormat = "plain",
        defaults: Mapping[str, Selector] | None = None,
        ignore: Sequence[str] = (),
        attachment_base: str | None = None,
    ) -> None:
        self.times = times or Times()
        read = _readers(self.times, separator, attachment_base)
        self._fields = [_mapped(name, at, read) for name, at in fields.items()]
        self._id = next((f for f in self._fields if f.name == "external_id"), None)
        # Most fields are one key of the record, and most keys one field.
        self._single: dict[str, list[_MappedField]] = {}
        for field in self._fields:
            if field.key is not None:
                self._single.setdefault(field.key, []).append(field)
        # The usual case by itself, for it is most of the work.
        self._plainly = {
            key: (several[0].name, several[0].read)
            for key, several in self._single.items()
            if len(several) == 1 and not several[0].may_differ
        }
        self._times_named = sorted(TIMES & {field.name for field in self._fields})
        self._composed = [field for field in self._fields if field.key is None]
        self._taken = _taken(self._composed, ignore)
        self._defaults: dict[str, Any] = {"text_format": text_format}
        self._constants: dict[str, str] = {}
        for given, value in (defaults or {}).items():
            name = canonical(given)
            if name.startswith(METADATA):
                self._constants[name.removeprefix(METADATA)] = plain(value)
            else:
                known = read[name](value)
                if known is not None:
                    self._defaults[name] = known

    @classmethod
    def of(
        cls,
        source: Source,
        args: MapArgs,
        fields: Mapping[str, Selector] | None = None,
        *,
        attachment_base: str | None = None,
    ) -> Self:
        """Return the map of a source's settings, laid over `fields` name by name."""
        return cls(
            by_field(fields or {}) | by_field(args.map),
            times=Times.of(source, args),
            separator=args.separator,
            text_format=args.text_format,
            defaults=args.defaults,
            ignore=args.ignore,
            attachment_base=source.base_url
            if attachment_base is None
            else attachment_base,
        )

    def external_id(self, record: Any) -> str | None:
        """Return the record's own id; None where it has none that can be used."""
        if self._id is None or not isinstance(record, dict):
            return None
        value = self._id.pick(record)
        if isinstance(value, str):
            return value if value and not value.isspace() else None
        if value is None or isinstance(value, bool | dict | list | float):
            return None
        return str(value)

    def look_up(self, record: Any, args: MapArgs) -> MappedRecord:
        """Return the names of a record, and the places of the map that it lacks."""
        if not isinstance(record, dict):
            malformed("wrong_type", f"A {type(record).__name__} is no record.")
        picked = (field.pick(record) for field in self._fields if field.name in TIMES)
        times = (" ".join(one.split()) for one in picked if isinstance(one, str))
        return MappedRecord(
            names=tuple(map(str, record)),
            absent=frozenset(
                (setting, place)
                for setting, place in args.places()
                if Pointer(place).is_absent(record)
            ),
            times=() if args.says_order else tuple(times),
        )

    def entry(
        self,
        record: Any,
        external_id: str,
        *,
        url: str | None = None,
        flags: tuple[str, ...] = (),
        written: source_times.Moment | None = None,
    ) -> Entry:
        """Return the entry, or raise MalformedEntryError; pure and total.

        `written` stands for the time of writing, where the caller knows it better.
        """
        if not isinstance(record, dict):
            malformed("wrong_type", f"A {type(record).__name__} is no record.")
        try:
            return self._entry(record, external_id, url, flags, written)
        except (RecursionError, ValueError, OverflowError) as exc:
            # Numbers of thousands of digits, and nesting beyond any sense.
            message = "The record holds values beyond all bounds."
            raise MalformedEntryError(message, reason="unreadable") from exc

    def _entry(
        self,
        record: dict[str, Any],
        external_id: str,
        url: str | None,
        flags: tuple[str, ...],
        written: source_times.Moment | None,
    ) -> Entry:
        found, rest, renamed = self._read(record)
        for name in self._times_named:
            moment = found.get(name)
            if moment is not None:
                found[name] = moment.at
                flags += moment.flags
        if written is not None:
            found["entry_time"] = written.at
            flags += written.flags
        elif "entry_time" not in found:
            if not found.get("deleted"):
                malformed("time_missing", "The record tells no time of writing.")
            found["entry_time"] = None
        if found.get("reply_to") == external_id:
            del found["reply_to"]
        if url is not None:
            found.setdefault("url", url)
        found.pop("external_id", None)
        if renamed:
            rest |= renamed
        return Entry(
            external_id=external_id,
            metadata=rest,
            flags=tuple(dict.fromkeys(flags)) if len(flags) > 1 else flags,
            **found,
        )

    def _read(
        self, record: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
        """Return fields, what no field has taken, and what fields name as metadata."""
        found = self._defaults.copy()
        rest = self._constants.copy()
        renamed: dict[str, str] = {}
        unused = self._read_composed(record, found, renamed)
        plainly = self._plainly
        for key, value in record.items():
            if value is None:
                continue
            only = plainly.get(key)
            if only is not None:
                known = only[1](value)
                if known is not None:
                    found[only[0]] = known
                continue
            is_read = False
            for field in self._single.get(key, ()):
                known = field.read(value)
                if known is not None:
                    _put(field.name, known, found, renamed)
                is_read = is_read or known is not None or not field.may_differ
            if not is_read and value != "":
                self._leave(rest, key, value, unused)
        return found, rest, renamed

    def _read_composed(
        self, record: dict[str, Any], found: dict[str, Any], renamed: dict[str, str]
    ) -> set[str | None]:
        """Read what stands deeper or in parts; return the keys that gave nothing."""
        unused: set[str | None] = set()
        for field in self._composed:
            value = field.pick(record)
            known = None if value is None else field.read(value)
            if known is not None:
                _put(field.name, known, found, renamed)
            elif value is None or field.may_differ:
                unused.update(at.tokens[0] for at in field.pointers if at.tokens)
        return unused

    def _leave(
        self, rest: dict[str, str], key: str, value: Any, unused: set[str | None]
    ) -> None:
        """Keep what no field has taken, as text."""
        inner = self._taken.get(key)
        if inner is None or (key in unused and inner is not _IGNORED):
            rest[key] = value if type(value) is str else plain(value)
        elif inner:
            _leave(rest, key, value, inner)


def _put(name: str, known: Any, found: dict[str, Any], renamed: dict[str, str]) -> None:
    if name == "metadata":
        # Merged last, it wins.
        renamed |= known
    elif name.startswith(METADATA):
        renamed.setdefault(name.removeprefix(METADATA), known)
    else:
        found[name] = known


# What is none of our words for these is worth keeping; elsewhere it says nothing.
_MAY_BE_ODD = frozenset(("kind", "origin", "text_format"))
# For each key: {} if all of it is taken, else what is taken below it.
_Taken = dict[str, Any]
_IGNORED: _Taken = {}


def _readers(
    times: Times, separator: str, base: str | None
) -> dict[str, Callable[[Any], Any]]:
    lists: dict[str, Callable[[Any], Any]] = {
        "logbooks": lambda value: values.many(value, separator),
        "tags": lambda value: values.many(value, separator),
        "readers": lambda value: values.readers(value, separator),
        "related": lambda value: values.others(value, separator),
        "attachments": lambda value: values.attachments(value, base, separator),
        "metadata": _pairs,
    }
    return {**_READERS, **lists, **{name: _time_reader(name, times) for name in TIMES}}


def _time_reader(name: str, times: Times) -> Callable[[Any], Any]:
    """Return a function that reads a time, and names the field of an unreadable one."""

    def read(value: Any) -> source_times.Moment | None:
        try:
            return times.read(value)
        except MalformedEntryError as exc:
            message = f"{name}: {exc.message}"
            raise MalformedEntryError(message, reason=exc.reason) from exc

    return read


def _pairs(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        malformed("wrong_type", f"Metadata is an object, and no {type(value).__name__}")
    return {str(key): plain(each) for key, each in value.items() if each is not None}


def _mapped(
    field: str, selector: Selector, read: Mapping[str, Callable[[Any], Any]]
) -> _MappedField:
    name = canonical(field)
    pointers = tuple(Pointer(text) for text in each(selector))
    key = pointers[0].key if len(pointers) == 1 else None
    return _MappedField(name, pointers, key, read.get(name, plain))


def _taken(fields: Sequence[_MappedField], ignore: Sequence[str]) -> _Taken:
    """Return the tree of the places that fields are read from."""
    tree: _Taken = {}
    for field in fields:
        for pointer in field.pointers:
            _take(tree, pointer)
    for key in ignore:
        tree[key] = _IGNORED
    return tree


def _take(tree: _Taken, pointer: Pointer) -> None:
    whole = pointer.tokens[:-1] if pointer.tokens[-1:] == (None,) else pointer.tokens
    tokens = [token for token in whole if token is not None]
    if len(tokens) < len(whole) or not tokens:
        # A list whose elements are read in part is kept as a whole.
        return
    place = tree
    for token in tokens[:-1]:
        if place.get(token) == {}:
            return
        place = place.setdefault(token, {})
    place[tokens[-1]] = {}


def _leave(rest: dict[str, str], name: str, value: Any, taken: _Taken) -> None:
    """Keep the unmapped values of an object, its keys joined by dots."""
    if not isinstance(value, dict):
        rest[name] = plain(value)
        return
    for key, inner in value.items():
        below = taken.get(key)
        if inner is None or below == {}:
            continue
        path = f"{name}.{key}"
        if below is None:
            rest[path] = plain(inner)
        else:
            _leave(rest, path, inner, below)
