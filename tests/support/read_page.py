"""A page as a program reads it: elements by name, class and id, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "input", "img", "br", "rect", "path", "hr"})


@dataclass
class Element:
    """One element: its attributes, and what is in it."""

    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return all that it says, its blanks folded."""
        return " ".join(self.raw.split())

    @property
    def raw(self) -> str:
        return "".join(
            one if isinstance(one, str) else one.raw for one in self.children
        )

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def every(self, element: str = "", /, **wanted: str) -> Iterator[Element]:
        """Yield the elements in it of a name, or with these attributes."""
        for one in self.children:
            if isinstance(one, str):
                continue
            if (not element or one.name == element) and one.has(**wanted):
                yield one
            yield from one.every(element, **wanted)

    def one(self, element: str = "", /, **wanted: str) -> Element:
        """Return the first of them, which there must be."""
        found = next(self.every(element, **wanted), None)
        assert found is not None, (element, wanted, self.text[:2000])
        return found

    def has(self, **wanted: str) -> bool:
        """Whether it has these attributes; of classes the one named."""
        return all(
            value in self.attributes.get("class", "").split()
            if key == "cls"
            else self.attributes.get(key) == value
            for key, value in wanted.items()
        )

    def link(self, text: str) -> str:
        """Return where the link leads that says this."""
        found = [one for one in self.every("a") if one.text == text]
        assert found, (text, [one.text for one in self.every("a")])
        return found[0]["href"]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {key: value or "" for key, value in attrs})
        self._open[-1].children.append(made)
        if tag not in _VOID:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {key: value or "" for key, value in attrs})
        self._open[-1].children.append(made)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        # A page whose elements are closed in another order is wrong.
        assert self._open[-1].name == tag, (tag, self._open[-1].name, self.getpos())
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def read_page(text: str) -> Element:
    """Return a page as its elements; each must be closed where it should be."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader._open) == 1, [one.name for one in reader._open]
    return reader.root
