"""XML in files: an element is a record, read in flat memory and without entities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError

import defusedxml
from defusedxml import ElementTree

from shared.errors import IngestionError
from workers.adapters.files.file_progress import FileMark, Record
from workers.adapters.files.utf8_text import GUESS, AsUTF8, beginning

# Roots that are a record themselves: two generations of one family.
_RECORDS = frozenset(("Logentry", "log_entry"))
_DEEPEST = 32
_MOST_BYTES = 64 * 1024 * 1024
_DECLARED = re.compile(
    rb"(<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}[\"'])[\w.:-]{1,40}"
)
_CONTROLS = bytes(
    0x20 if n < 0x20 and n not in {0x9, 0xA, 0xD} else n  # noqa: PLR2004 - ASCII
    for n in range(256)
)
_MOST_TEXT = 200


class XMLForm:
    """Reads the elements of a name, or all below the root, as objects."""

    def __init__(self, item: str | None = None) -> None:
        self._item = item

    def grows(self, name: str, first: bytes) -> bool:  # noqa: ARG002 - none does
        """Tell that a changed file is read again, for XML ends with its root."""
        return False

    def records(
        self,
        name: str,  # noqa: ARG002 - every name is read alike
        stream: BinaryIO,
        first: bytes,
        start: FileMark,  # noqa: ARG002 - there is but one place to begin
    ) -> Iterator[Record | None]:
        """Yield the records; an empty file is not yet there."""
        if not first.strip():
            yield None
            return
        source = _Source(AsUTF8(beginning(stream, first).stream))
        number = 0
        try:
            for element in self._elements(source):
                number += 1
                value = _value(element, 1)
                record = value if isinstance(value, dict) else {"#text": value}
                charset = GUESS if source.has_guessed else None
                yield Record(
                    record, number, charset=charset, size=source.bytes_of_record
                )
                source.bytes_of_record = 0
        except (ParseError, defusedxml.DefusedXmlException) as exc:
            raise IngestionError(
                f"A file cannot be read after {number} records: it is no XML, or has"
                " entities of its own.",
                reason="unexpected_shape",
                technical=str(exc)[:_MOST_TEXT],
            ) from exc

    def _elements(self, source: _Source) -> Iterator[Element]:
        events = ElementTree.iterparse(
            source, events=("start", "end"), forbid_dtd=False, forbid_entities=True
        )
        above: list[Element] = []
        for event, element in events:
            if event == "start":
                above.append(element)
                continue
            above.pop()
            if self._is_record(element, above):
                yield element
                # What was read is let go of, or the whole file would be in memory.
                element.clear()
                if above:
                    above[-1].remove(element)

    def _is_record(self, element: Element, above: list[Element]) -> bool:
        if self._item is not None:
            return local(element.tag) == self._item
        if not above:
            return local(element.tag) in _RECORDS
        return len(above) == 1 and local(above[0].tag) not in _RECORDS


def local(tag: str) -> str:
    """Return a name without its namespace."""
    return tag.rpartition("}")[2]


def _value(element: Element, depth: int) -> Any:
    """Return the text of an element, or an object of its children.

    Attributes stand beside their element, as `name@attribute`.
    """
    own = {f"@{local(name)}": text for name, text in element.attrib.items()}
    if depth > _DEEPEST:
        return "".join(element.itertext())
    if not len(element):
        text = element.text or ""
        return {**own, "#text": text} if own and depth == 1 else text
    found: dict[str, Any] = dict(own) if depth == 1 else {}
    if element.text and element.text.strip():
        found["#text"] = element.text
    for child in element:
        name = local(child.tag)
        _add(found, name, _value(child, depth + 1))
        for attribute, text in child.attrib.items():
            _add(found, f"{name}@{local(attribute)}", text)
    return found


def _add(found: dict[str, Any], name: str, value: Any) -> None:
    known = found.get(name)
    if known is None:
        found[name] = value
    elif isinstance(known, list):
        known.append(value)
    else:
        found[name] = [known, value]


class _Source:
    """The bytes of a file as XML allows them, bounded between two records."""

    def __init__(self, stream: AsUTF8) -> None:
        self._stream = stream
        self._is_first = True
        self.bytes_of_record = 0

    @property
    def has_guessed(self) -> bool:
        """Tell whether the last read met another charset."""
        return self._stream.has_guessed

    def read(self, size: int = -1, /) -> bytes:
        """Return up to so many bytes."""
        data = self._stream.read(size)
        self.bytes_of_record += len(data)
        if self.bytes_of_record > _MOST_BYTES:
            message = "A record of the file is larger than 64 MiB."
            raise IngestionError(message, reason="too_large")
        if self._is_first and data:
            self._is_first = False
            # It is UTF-8 by now, whatever it calls itself.
            data = _DECLARED.sub(rb"\1utf-8", data, count=1)
        return data.translate(_CONTROLS)
