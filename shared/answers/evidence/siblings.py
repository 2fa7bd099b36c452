"""What there is in place of a name that no entry has: `turbine 1`, for `turbine 5`."""

import re
from collections import Counter
from collections.abc import Sequence

from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.numbered_things import NumberedThing
from shared.answers.question.question import QuestionName

MOST = 3
_LETTERS = re.compile(r"[A-Za-z]+(?=[-_ ]?\d)")
_JOINT = re.compile(r"[-_ ]?0*(?=\d)")


def find_siblings(
    asked: QuestionName | NumberedThing, entries: Sequence[EvidenceEntry]
) -> list[tuple[str, int]]:
    """Return the likes of a name with how many of the entries have them, most first.

    Each is spelt as the first entry spells it, and counted however it is spelt.
    """
    form = _form_of(asked)
    if form is None:
        return []
    found: Counter[str] = Counter()
    written: dict[str, str] = {}
    for one in entries:
        text = f"{one.row.title}\n{one.row.text}"
        if isinstance(asked, NumberedThing):
            text = text.lower()
        likes = [" ".join(match[0].split()) for match in form.finditer(text)]
        spelt = {_key(name): name for name in likes}
        found.update(spelt.keys())
        written = spelt | written
    del found[_key(asked.written)]
    return [(written[key], count) for key, count in found.most_common(MOST)]


def _form_of(asked: QuestionName | NumberedThing) -> re.Pattern[str] | None:
    if isinstance(asked, NumberedThing):
        if asked.number.isalpha():
            return None
        head = re.escape(asked.written.rpartition(" ")[0])
        return re.compile(rf"\b{head}\s+\d{{1,4}}\b", re.IGNORECASE)
    letters = _LETTERS.match(asked.written)
    if letters is None:
        return None
    return re.compile(rf"\b{letters[0]}[-_ ]?\d{{1,4}}[A-Z]?\b")


def _key(written: str) -> str:
    return _JOINT.sub("", written.lower(), count=1)
