"""Takes the words of a request off a question: `tell me about the dome` asks of it."""

from __future__ import annotations

import re
from dataclasses import replace

from shared.search.query.language.tree import And, Node, Words

_ALL = r"(?:all|everything|anything|alles?|alle)"
# A bare `list` or `find` may be a word of what is looked for: `list of spares`.
_REQUEST = re.compile(
    r"(?:(?:please|bitte)\s+)?"
    rf"(?:(?:tell|show|give|find|list)\s+(?:me|us)(?:\s+{_ALL})?"
    r"|(?:zeige?|sage?|gib|suche?|finde|erz\u00e4hle?)\s+(?:mir|uns)"
    rf"(?:\s+{_ALL})?"
    rf"|(?:list|find|show|search\s+for|look\s+for)\s+{_ALL}"
    r"|what\s+do\s+(?:we|you)\s+know|was\s+wei\u00dft\s+du|was\s+wissen\s+wir)"
    r"(?:\s+(?:the\s+|die\s+)?(?:entries|entry|reports?|eintr\u00e4ge))?"
    r"(?:\s+(?:about|on|of|for|regarding|with|\u00fcber|zu|von|mit))?"
    r"\s+(?=\S)",
    re.IGNORECASE,
)


def strip_request(node: Node | None) -> Node | None:
    """Return a question without the words that only ask to be told or shown."""
    match node:
        case Words():
            return _strip(node)
        case And([Words() as first, *others], is_written=False):
            return replace(node, parts=(_strip(first), *others))
        case _:
            return node


def _strip(words: Words) -> Words:
    found = _REQUEST.match(words.text)
    end = found.end() if found else 0
    return Words(words.text[end:], words.start + end)
