"""Times taken out of the words of a question, so that only the rest is searched."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.search.query.language.tree import And, Node, Not, Words
from shared.text.words import function_words, question_words
from shared.times import plain_words, romance_times, time_ambiguity, time_phrases
from shared.times.calendar import Clock
from shared.times.calendar_names import strip_accents
from shared.times.time_ambiguity import Stretch
from shared.times.time_phrases import TimePhrase

# A question says its time in a few words: in a long text no more places are tried.
MAX_LOOKS = 64
_HAPPENED = ("happened", "occurred")
# `2024-06-10`, `14:00-16:00`, and no `5e-7`.
_YEAR = re.compile(r"\d{4}", re.ASCII)
_DATE_OR_CLOCK = re.compile(r"\d{1,4}[-/.:]\d", re.ASCII)
_ASKS = frozenset(
    (
        *("did", "do", "does", *_HAPPENED, "any", "anything", "everything", "new"),
        *("news", "show", "list", "find", "going", "give", "me", "us", "entry"),
        *("entries", "there", "all", "changed", "has", "have", "wrote", "write"),
        *("written", *question_words.WORDS["en"]),
    )
)
_ROMANCE = (
    "que quoi qu'est-ce qui s'est s'est-il pass\u00e9 passe de neuf tout",
    "che cosa cos'\u00e8 \u00e8 successo accaduto di nuovo tutto",
    "qu\u00e9 que pas\u00f3 paso ha pasado sucedi\u00f3 ocurri\u00f3 hay de nuevo todo",
)
# Words that only ask, by language: with nothing else beside a time they are not
# searched for. No article is German, for it may be a name: `DES letzte Woche`.
_ONLY_ASKING = (
    _ASKS | function_words.WORDS["en"],
    frozenset(
        (
            *("gab", "gibt", "es", "ist", "war", "passiert", "passierte", "geschah"),
            *("geschehen", "los", "vorgefallen", "neues", "alles", "zeig", "zeige"),
            *("hat", "haben", "sich", "gemacht", "getan", "berichtet"),
            *("geschrieben", "ge\u00e4ndert", "ver\u00e4ndert", "uns", "eintrag"),
            *("eintr\u00e4ge", *question_words.WORDS["de"]),
        )
    ),
    *(frozenset(words.split()) for words in _ROMANCE),
)
# What is written or happens, in all five languages, without accents: a year behind it
# is no number of a thing, and what is older is so by then. A magnet may be neither.
_COUNTED_BY_TIME = """
    entries logs posts notes reports messages events incidents trips faults failures
    errors alarms problems issues leaks quenches losses dumps outages interlocks stops
    eintrage eintraege berichte meldungen ereignisse ausfalle ausfaelle fehler lecks
    storungen stoerungen probleme alarme verluste
    entrees evenements pannes defauts fuites arrets pertes erreurs problemes alarmes
    guasti eventi errori problemi allarmi perdite fermate interventi
    fallos averias eventos errores problemas alarmas fugas paradas
"""
_WRITTEN_OR_HAPPENED = frozenset(_COUNTED_BY_TIME.split())
_AGES = frozenset(
    {"older", "newer", "neuer", "plus", "pi\u00f9", "piu", "m\u00e1s", "mas"}
)
_SIGNS = ",;.:!?()[]\u00bf\u00a1"


@dataclass(frozen=True, slots=True)
class Taken:
    """Words that are a time, their place in the text, and their meaning."""

    words: str
    start: int
    reading: TimePhrase


@dataclass(frozen=True, slots=True)
class Heard:
    """A question without its times, and the times."""

    tree: Node | None
    times: tuple[Taken, ...] = ()


def extract_times(tree: Node | None, text: str, clock: Clock) -> Heard:
    """Return a question without its times; below OR and NOT words stay as they are."""
    if clock.now is None:
        return Heard(tree)
    taken: list[Taken] = []
    match tree:
        case Words():
            left = joined([*_rest(tree, text, clock, taken)])
        case And(parts, is_written):
            some: list[Node] = []
            for place, part in enumerate(parts):
                if isinstance(part, Words):
                    before = parts[place - 1] if place else None
                    some += _rest(
                        part,
                        text,
                        clock,
                        taken,
                        is_refused=_is_begun(before, clock),
                        is_end=place + 1 == len(parts),
                    )
                else:
                    some.append(part)
            left = joined(some, is_written=is_written)
        case _:
            return Heard(tree)
    if not taken:
        return _hear_bare_shift(tree, text, clock)
    return Heard(None if _only_asks(left) else left, tuple(taken))


def _hear_bare_shift(tree: Node | None, text: str, clock: Clock) -> Heard:
    """Take the name of a shift for its latest one, where nothing else is asked."""
    if not isinstance(tree, Words):
        return Heard(tree)
    words = tree.text.split()
    for after, word in enumerate(words, 1):
        if "shift" not in plain_words.make_plain([word.strip(_SIGNS)]).split():
            continue
        for first in range(max(0, after - 3), after):
            others = Words(" ".join((*words[:first], *words[after:])), tree.start)
            said = " ".join(words[first:after]).strip(_SIGNS)
            plain = plain_words.make_plain(said.split()).removeprefix("die ")
            reading = time_phrases.parse_time_phrase(f"during {plain}", clock)
            if reading is not None and others.text and _only_asks(others):
                place = [*_places(words, text, tree.start)][first]
                return Heard(None, (Taken(said, place, reading),))
    return Heard(tree)


def joined(parts: Sequence[Node], *, is_written: bool = False) -> Node | None:
    """Return all of these as one node; None where there are none."""
    if len(parts) > 1:
        return And(tuple(parts), is_written)
    return parts[0] if parts else None


def _rest(
    node: Words,
    text: str,
    clock: Clock,
    taken: list[Taken],
    *,
    is_refused: bool = False,
    is_end: bool = True,
) -> Iterator[Words]:
    """Yield the words around times, apart: words on both sides are not one name."""
    words = node.text.split()
    places = [*_places(words, text, node.start)]
    found = [*_stretches(words, clock, is_end=is_end)]
    refused = 0 if is_refused else None
    for one in found:
        if text[: places[one.first]].rstrip().endswith(("-", "\u2212")):
            refused = one.first
    first = 0
    for one in time_ambiguity.sure(words, found, refused, clock):
        said = " ".join(words[one.first : one.after]).rstrip(_SIGNS)
        taken.append(Taken(said, places[one.first], one.reading))
        # Words that join two times are not searched for.
        if first < one.first and (first == 0 or not _joins(words[first : one.first])):
            yield Words(" ".join(words[first : one.first]), places[first])
        first = one.after
    if first == 0:
        yield node
    elif first < len(words):
        yield Words(" ".join(words[first:]), places[first])


def _joins(words: list[str]) -> bool:
    return len(words) == 1 and words[0].lower().strip(_SIGNS) in time_ambiguity.JOINS


def _stretches(words: list[str], clock: Clock, *, is_end: bool) -> Iterator[Stretch]:
    """Yield every stretch of words that may be a time, the longest at each place."""
    begins = time_phrases.first_words(clock) | romance_times.find_first_words(words)
    looks = place = 0
    while place < len(words) and looks < MAX_LOOKS:
        found = None
        if _may_begin(words, place, begins):
            looks += 1
            found = _longest(words, place, clock, is_end=is_end)
        if found is not None:
            yield found
        place = found.after if found else place + 1


def _is_begun(before: Node | None, clock: Clock) -> bool:
    """Tell whether a negated word begins a time: `-last night`."""
    match before:
        case Not(Words(text)):
            words = text.split()
            return _may_begin(words, len(words) - 1, time_phrases.first_words(clock))
        case _:
            return False


def _may_begin(words: list[str], place: int, begins: frozenset[str]) -> bool:
    plain = plain_words.make_plain(words[place : place + 1])
    if plain in _HAPPENED and place and words[place - 1].lower() in _ASKS:
        # `what happened yesterday` asks for all entries of that day.
        return False
    if plain in _AGES:
        return not place or _is_written_or_happens(words[place - 1])
    # `plain` may make several English words of one, as of `Nachtschicht`.
    first = plain.partition(" ")[0]
    if plain == "yesterday" and words[place].lower().startswith(romance_times.HERE):
        return words[place].lower() in begins
    if not begins.isdisjoint({first, words[place].lower()}):
        return True
    return first.isdigit() or _DATE_OR_CLOCK.match(first) is not None


def _longest(
    words: list[str], place: int, clock: Clock, *, is_end: bool
) -> Stretch | None:
    for after in range(min(len(words), place + time_phrases.MAX_WORDS), place, -1):
        said = plain_words.make_plain(words[place:after])
        is_end_of_all = is_end and place + 1 == len(words)
        if is_end_of_all and place and _is_written_or_happens(words[place - 1]):
            # `klystron trips 2019`; what is no year is none behind `in` either.
            said = f"in {said}" if _YEAR.fullmatch(said) else said
        reading = time_phrases.parse_time_phrase(
            said, clock, is_end=is_end and after == len(words)
        )
        if reading is not None:
            return Stretch(place, after, reading)
    return None


def _is_written_or_happens(word: str) -> bool:
    return strip_accents(word.lower().strip(_SIGNS)) in _WRITTEN_OR_HAPPENED


def _places(words: list[str], text: str, start: int) -> Iterator[int]:
    """Yield where each word stands in the question."""
    place = start
    for word in words:
        found = text.find(word, place)
        place = place if found < 0 else found
        yield place
        place += len(word)


def _only_asks(node: Node | None) -> bool:
    match node:
        case None:
            return True
        case Words(text):
            plain = text.lower().replace("\u2019", "'").split()
            words = [word.strip(_SIGNS).removesuffix("'s") for word in plain]
            return any(
                all(not word or word in only for word in words) for only in _ONLY_ASKING
            )
        case And(parts):
            return all(_only_asks(part) for part in parts)
        case _:
            return False
