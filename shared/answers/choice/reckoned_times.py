"""How long something was off, reckoned from two times of day that an entry tells."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from shared.answers.choice.sentence_score import ScoredSentence
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.question import Question
from shared.text.reading import incidents
from shared.text.reading.incidents import Statement

# What was off for a time, or came back after it.
_OFF = re.compile(
    r"\b(?:off|down|out|lost|gone|away|back|stop\w*|interrupted|unavailable|aus|weg"
    r"|ausgefallen|zur\u00fcck|unterbrochen|panne|arr\u00eat\w*|coup\u00e9\w*|perdue?|ferm[oa]"
    r"|spent[oa]|interrott[oa]|perso|parad[oa]|apagad[oa]|ca\u00edd[oa]|perdid[oa])\b",
    re.IGNORECASE,
)
_DAY = timedelta(days=1)


class Outage(NamedTuple):
    """The two statements of an entry between which something was off."""

    trip: Statement
    back: Statement

    def spell(self, zone: str) -> str:
        """Return both times on a clock, and how long it is from one to the other."""
        trip, back = (one.at.astimezone(ZoneInfo(zone)) for one in self)
        # A clock that says less is that of the next day.
        minutes = int((self.back.at - self.trip.at) % _DAY / timedelta(minutes=1))
        hours, rest = divmod(minutes, 60)
        spelt = " ".join([*([f"{hours} h"] if hours else []), f"{rest} min"])
        return f"{trip:%H:%M} to {back:%H:%M}: {spelt}"


def reckon_times(
    question: Question, scored: Sequence[ScoredSentence], zone: str
) -> list[ScoredSentence] | None:
    """Return the sentences in which the best entry's outage begins and ends.

    None: that is not asked for, or its thread says how long it was. `zone`: on whose
    clock the entry was written.
    """
    if question.kind != "how_long" or not scored or not _OFF.search(question.text):
        return None
    entry = scored[0].candidate.entry
    inside = [one for one in scored if one.candidate.entry.thread == entry.thread]
    outage = (
        None if any(one.is_of_kind for one in inside) else _find_outage(entry, zone)
    )
    if outage is None:
        return None
    found = [
        next(
            (
                one
                for one in inside
                if one.candidate.entry is entry
                and one.candidate.start is not None
                and one.candidate.end is not None
                and one.candidate.start <= said.start < one.candidate.end
            ),
            None,
        )
        for said in outage
    ]
    told = [replace(one, is_of_kind=True) for one in found if one is not None]
    if len(told) < len(outage):
        return None
    last = replace(told[1], reckoned=outage.spell(zone))
    return [last] if told[0].candidate is told[1].candidate else [told[0], last]


def _find_outage(entry: EvidenceEntry, zone: str) -> Outage | None:
    text = incidents.blank_quoted_lines(entry.text)
    said = [
        one
        for one in incidents.find_statements(text, entry.row.entry_time, zone)
        if one.time_from == "quote"
    ]
    trips = [one for one in said if one.kind == "trip"]
    backs = [one for one in said if one.kind == "restored"]
    # Which of several belong together is not clear.
    if len(trips) != 1 or len(backs) != 1 or abs(backs[0].at - trips[0].at) >= _DAY:
        return None
    return Outage(trips[0], backs[0])
