"""Writes a tree as text: as it could be typed, or its words that have a meaning."""

from collections.abc import Iterator

from shared.search.query.language import field_filters, tree
from shared.search.query.language.tree import Node, Words


def text_of(node: Node | None) -> str:
    """Return a question that the grammar parses to this tree."""
    match node:
        case None:
            return ""
        case tree.Phrase(text):
            return f'"{text}"'
        case tree.Field(filters, name=name, written=written) if (
            name in field_filters.DATES or filters.ranges
        ):
            # The value is quoted, so that no word behind it is read as its part.
            value = written.removeprefix(f"{name}:").strip('"')
            return f'{name}:"{value}"'
        case tree.Field(written=written):
            return written
        case tree.Not(part):
            return f"NOT {_grouped(part, alone=True)}"
        case tree.And(parts, is_written):
            between = " AND " if is_written else " "
            return between.join(_all(parts, is_written=is_written))
        case tree.Or(parts):
            return " OR ".join(text_of(part) for part in parts)
        case _:
            return node.text


def wanted_text(node: Node | None) -> str:
    """Return the wanted words, to be compared by meaning; exclusions have none.

    Neither has a name with gaps: `SR:C??-RF*` stands for many names.
    """
    texts = (
        one.text.replace("*", "")
        for one in _wanted(node)
        if not isinstance(one, tree.Pattern) or one.is_beginning
    )
    return " ".join(text for text in texts if text)


def wants(node: Node | None) -> bool:
    """Tell whether a tree has words to find, by meaning or as they are written."""
    return any(one.text.replace("*", "") for one in _wanted(node))


def _all(parts: tuple[Node, ...], *, is_written: bool) -> Iterator[str]:
    before: Node | None = None
    for part in parts:
        # Words that touch would be read as one name.
        touch = isinstance(before, Words) and isinstance(part, Words)
        text = text_of(part)
        yield f"({text})" if touch and not is_written else _grouped(part)
        before = part


def _grouped(node: Node, *, alone: bool = False) -> str:
    text = text_of(node)
    is_group = isinstance(node, tree.And | tree.Or)
    is_group |= alone and isinstance(node, Words) and " " in node.text
    return f"({text})" if is_group else text


def _wanted(node: Node | None) -> Iterator[Words | tree.Phrase | tree.Pattern]:
    for leaf, is_wanted in tree.leaves(node):
        if is_wanted and not isinstance(leaf, tree.Field):
            yield leaf
