"""A question of many words: quoted words only rank, and no time narrows it.

Whoever pastes a paragraph quotes what somebody said and tells when it was; hardly any
entry has those very words, and few were written then.
"""

from shared.search.query.language.tree import And, Node, Phrase, Words

# A question of more words is a long one.
MOST_WORDS = 25


def is_long(text: str) -> bool:
    """Tell whether a question has so many words that its quotes are only wishes."""
    return len(text.split()) > MOST_WORDS


def soften(node: Node | None) -> Node | None:
    """Return a question in which quoted words only rank and are not required.

    Where operators were written, the quotes are meant, whatever the length.
    """
    match node:
        case Phrase(text, start):
            return Words(text, start)
        case And(parts, is_written=False):
            wishes = tuple(one for one in parts if isinstance(one, Phrase))
            softened = tuple(
                Words(one.text, one.start) if isinstance(one, Phrase) else one
                for one in parts
            )
            return And(softened, wishes=wishes)
        case _:
            return node
