"""A question as an answer is measured by it: its kind, its names, its words."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import permutations

from shared.answers.question import (
    answer_kinds,
    deeds,
    everyday_words,
    numbered_things,
    plain_numbers,
    sentence_kinds,
)
from shared.answers.question.answer_kinds import AnswerKind
from shared.answers.question.counts import asks_times, find_counted, is_times_word
from shared.answers.question.empty_words import is_empty
from shared.answers.question.numbered_things import NumberedThing
from shared.search.query import modes, name_query, sub_queries
from shared.search.query.language.tree import Node, Pattern
from shared.search.query.plan import Plan
from shared.text.analysis.analyser import IDENT_PREFIX
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import Facility
from shared.text.words import question_words
from shared.text.words.character_runs import Token
from shared.text.words.folding import STEMMED_LANGUAGES, fold_surface, stem
from shared.times.calendar_names import CALENDAR_WORDS
from shared.vocabulary import common_words
from shared.vocabulary.expand import UNSTEMMED

# What asks, tells or refers beside a word that begins a question, and is in no answer:
# by the folded form.
_ASKING_WORDS = """
    long much many did do does done was were is are be been will would could should
    can must need needs happen happened happens cause caused causes reason reasons
    tell show find about there get got go went broken wrong anybody somebody someone
    anyone itself now still yet please put read set right in on by to up towards at
    with full lange viel viele ist sind war waren worden wurde wurden wird hat haben
    kann konnte soll muss noch jetzt gab gibt ursache grund passiert geschah zeige
    sage often oft verursacht verursachte blieb bleibt ging gingen causee causato
    causata causo raison causa motivo razon wrote write written geschrieben schrieb
    ecrit scritto escrito escribio
"""
_ASKING = question_words.ENGLISH_AND_GERMAN | {*_ASKING_WORDS.split()}

_OR = re.compile(r"\s+(?:or|oder|ou|o)\s+")
_HOW = re.compile(r"\b(?:how|wie)\s+\Z", re.IGNORECASE)
_LEAST_LETTERS = 3
_WORD = re.compile(r"\w+")
# `Warum fiel die Pumpe aus?`
_PARTED = re.compile(
    r"(?P<rest>.*\w)\s+(?P<prefix>ab|an|auf|aus|ein|nach|um|vor|weg|zu|zur\u00fcck)\W*\Z"
)
_SMALL = re.compile(r"\b[a-z\u00e4\u00f6\u00fc]\w+")
_VALVED_OFF = re.compile(r"\bvalved (?:off|out)\b", re.IGNORECASE)
_GERMAN = re.compile(
    r"\b(?:der|die|das|dem|den|des|ein|eine|und|ist|war|wurde|warum|wie|wo|wann|welche"
    r"|wer|im|am|zu|auf|von)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|never|no longer|cannot|unable|failed to|nicht|nie|kein\w*|pas|jamais"
    r"|non|sin|nunca)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
# `didn't` is asked of as `did not` is.
_DENIED_VERB = re.compile(r"n['\u2019]t\Z")


@dataclass(frozen=True, slots=True)
class QuestionName:
    """A name in a question: as it is compared, and as it is written."""

    term: str
    written: str


@dataclass(frozen=True, slots=True)
class Question:
    """The question that an answer has to meet, with its words, names and kind."""

    text: str
    kind: AnswerKind
    names: tuple[QuestionName, ...]
    things: tuple[NumberedThing, ...]
    # By the language of an entry: of each content word its term there.
    terms: dict[str, dict[str, str]] = field(hash=False)
    # Numbers, as they are written, that are no size, time or part of a name.
    numbers: tuple[str, ...] = ()
    # The pattern of what is counted, where that is asked for.
    counted: str = ""
    # How often something happened is asked.
    is_of_times: bool = False
    # One of those that it offers is enough: `V3 or V4`.
    choices: tuple[frozenset[QuestionName | NumberedThing], ...] = ()
    # How something is now is asked: is it repaired, does it still trip?
    is_of_state: bool = False
    # Whether something works again is asked, or still is as it was.
    asks_order: bool = False
    # When it was last replaced, who did so last.
    is_of_last: bool = False
    # How something is done, as a procedure tells it.
    is_how_to: bool = False
    # Who wrote it, which is known of every entry.
    is_of_author: bool = False
    # In which it may be asked; none: too few words tell.
    languages: frozenset[str] = frozenset()
    # What it takes for done, or asks whether it is so: `repaired`, `closed`. Empty
    # where that is not clear, or where it is asked whether all is in order.
    deed: str = ""
    # The content words that are no part of a name or a numbered thing.
    plain_words: tuple[str, ...] = ()
    # What each word means in each language, once it was asked for.
    _meant: dict[tuple[str, str], frozenset[str]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def is_answered_by(
        self, sentence: str, language: str, people: frozenset[str]
    ) -> bool:
        """Tell whether a sentence can be such an answer; `people` are folded names."""
        if self.is_of_author:
            return True
        if self.is_how_to:
            return sentence_kinds.tells_how(sentence, language)
        if self.kind in {"who", "when"} and (
            sentence_kinds.is_planned(sentence, language, self.text, self.words)
            or self._denies_deed(sentence, language)
        ):
            return False
        if self.kind == "who":
            sentence = deeds.blank_tellers(sentence, self.words)
        return sentence_kinds.is_of_kind(
            self.kind, self.counted, sentence, language, people
        )

    def is_done_by_author(self, sentence: str, language: str) -> bool:
        """Tell whether who writes a sentence did what it is asked who did."""
        return self.kind == "who" and deeds.tells_own_deed(
            sentence, language, self._deeds
        )

    def is_dated_by(self, sentence: str, language: str) -> bool:
        """Tell whether an entry with a sentence was written when this was done.

        What is planned, denied or asked there was not.
        """
        return (
            self.kind == "when"
            and sentence_kinds.asks_past(self.text)
            and sentence_kinds.tells_done(sentence, self._deeds)
            and self.is_taken_for_done(sentence, language)
        )

    def is_told_whole(
        self, sentence: str, language: str, terms: AbstractSet[str]
    ) -> bool:
        """Tell whether a sentence with these terms says each word, and denies none."""
        denied = deeds.list_denied(sentence, language)
        return self.is_taken_for_done(sentence, language) and all(
            self.is_said(one, language, terms)
            and not self.is_said(one, language, denied)
            for one in self.plain_words
        )

    def is_taken_for_done(self, sentence: str, language: str) -> bool:
        """Tell whether a sentence neither asks, denies nor plans what it is about."""
        return (
            not sentence.rstrip().endswith("?")
            and not _DENIES.search(sentence)
            and not self._denies_deed(sentence, language)
            and not sentence_kinds.is_planned(sentence, language, self.text, self.words)
        )

    @property
    def _deeds(self) -> Sequence[str]:
        """Return the words for what it takes for done; all, where that is not clear."""
        if not self.deed:
            return self.words
        return [self.deed, *deeds.list_alike(self.deed).split()]

    @property
    def called(self) -> tuple[QuestionName | NumberedThing, ...]:
        """Return all that it calls by a name or a number."""
        return (*self.names, *self.things)

    @property
    def offered(self) -> frozenset[QuestionName | NumberedThing]:
        """Return the names and things that it offers to choose between."""
        return frozenset[QuestionName | NumberedThing]().union(*self.choices)

    def is_called_by(self, found: AbstractSet[QuestionName | NumberedThing]) -> bool:
        """Tell whether a text with these names has all that are meant."""
        return found >= set(self.called) - self.offered and all(
            found & choice for choice in self.choices
        )

    def is_said(self, word: str, language: str, terms: AbstractSet[str]) -> bool:
        """Tell whether terms have a word of the question, or another one for it."""
        return not self._meant_in(word, language).isdisjoint(terms) or any(
            # German writes in one word what others write in two.
            all(not part.isdisjoint(terms) for part in parts)
            for parts in [self._parts_of(word, language)]
            if parts
        )

    def deed_in(self, language: str) -> frozenset[str]:
        """Return the terms of what it takes for done, in texts of a language."""
        return self._meant_in(self.deed, language)

    def is_state_of(
        self, sentence: str, language: str, terms: AbstractSet[str]
    ) -> bool:
        """Tell whether a sentence with these terms says that it is so, or is not.

        What is planned or asked there is neither, nor what is told of something else.
        """
        about = [one for one in self.words if one != self.deed]
        is_said = bool(self.deed) and not self.deed_in(language).isdisjoint(terms)
        return (
            (is_said or self.tells_order(sentence, language))
            and not sentence.rstrip().endswith("?")
            and not (self.deed == "off" and sentence_kinds.tells_past(sentence))
            and not sentence_kinds.is_planned(sentence, language, self.text, self.words)
            and (
                not (about and sentence_kinds.names_subject(sentence))
                or any(self.is_said(one, language, terms) for one in about)
            )
        )

    def tells_order(
        self, sentence: str, language: str, *, surely: bool = False
    ) -> bool:
        """Tell whether a sentence says that it works again, where that is asked."""
        return self.asks_order and answer_kinds.tells_state(
            sentence, language, surely=surely
        )

    def terms_of(self, word: str) -> frozenset[str]:
        """Return the terms of a content word in texts of any language."""
        return frozenset(one[word] for one in self.terms.values() if word in one)

    def terms_meant(self, word: str) -> frozenset[str]:
        """Return the terms of a word and of others for it, in texts of any language."""
        return frozenset[str]().union(
            *(self._meant_in(word, one) for one in self.terms)
        )

    def list_translated(self, word: str) -> list[frozenset[str]]:
        """Return the terms of other languages for a word, or for each of a compound."""
        if word in {one.written for one in self.names}:
            return [frozenset(f"{IDENT_PREFIX}{one}" for one in self.terms_of(word))]
        if word not in self.words:
            return []
        others = [one for one in self.terms if one not in self.languages]
        parts = [self._parts_of(word, one) for one in others]
        if any(parts):
            return [frozenset[str]().union(*same) for same in zip(*parts, strict=True)]
        meant = (self._translated_terms(word, one) for one in others)
        found = frozenset[str]().union(*meant)
        return [found] if found else []

    def _denies_deed(self, sentence: str, language: str) -> bool:
        """Tell whether a sentence says that what it is asked about was not done."""
        denied = deeds.list_denied(sentence, language)
        return bool(denied) and any(
            self.is_said(one, language, denied)
            for one in self.words
            if one == self.deed or deeds.list_alike(one)
        )

    def _meant_in(self, word: str, language: str) -> frozenset[str]:
        """Return the terms of a word and of others for it, in texts of a language."""
        found = self._meant.get((word, language))
        if found is None:
            own = self.terms_in(language).get(word)
            is_state = self.is_of_state and word == self.deed
            list_others = deeds.list_states if is_state else deeds.list_alike
            found = _terms_of(list_others(word), language)
            if own is not None:
                found |= {own}
            if own is not None and not (is_state and found):
                # What closes is not closed: a state is said by its own words alone.
                found |= self._translated_terms(word, language)
            self._meant[word, language] = found
        return found

    def _parts_of(self, word: str, language: str) -> list[frozenset[str]]:
        """Return the terms of another language for each word of a compound."""
        if "de" not in self.languages or language in self.languages:
            return []
        parts = everyday_words.split_compound(word) or ()
        return [everyday_words.list_meanings((("de", one),), language) for one in parts]

    def _translated_terms(self, word: str, language: str) -> frozenset[str]:
        """Return the terms of other languages for a word; of its own none."""
        if language in self.languages or word in {one.written for one in self.names}:
            return frozenset()
        asked = tuple((one, self.terms_in(one)[word]) for one in sorted(self.languages))
        verb, whole = _find_parted(self.text)
        if word == verb and "de" in self.languages:
            asked = (("de", stem(fold_surface(whole, "de"), "de")),)
        return everyday_words.list_meanings(asked, language)

    def terms_in(self, language: str) -> dict[str, str]:
        """Return the content words, as texts of a language have them."""
        return self.terms.get(language) or self.terms[UNSTEMMED]

    @property
    def words(self) -> tuple[str, ...]:
        """Return the content words as they are written."""
        return tuple(self.terms[UNSTEMMED])


# What is asked for in one breath is answered in one, unless each was searched. Each
# side of a comparison has its paragraph, however far its hits score below the other's:
# one that is left out for its score would pass for one of which nothing is written.
_ASKED_APART = frozenset({"multi_question", "comparison"})


def list_parts(plan: Plan, facility: Facility) -> list[str]:
    """Return the parts in order; of a question that asks one thing, itself alone."""
    found = sub_queries.take_apart(plan.tree, plan.query, facility)
    is_apart = found.strategy in _ASKED_APART
    if is_apart or (plan.method == modes.AGENTIC and found.has_parts):
        return list(found.parts)
    return [plan.query]


def read_question(plan: Plan, facility: Facility) -> Question:
    """Read the question of a plan; words that were read as a time are none of it."""
    text = " ".join(_wanted(plan.tree)) or plan.query
    question = read_part(plan.query, text, facility)
    things = {one.number for one in question.things}
    numbers = plain_numbers.list_loose_numbers(text, things, facility)
    return replace(question, numbers=tuple(numbers))


def read_part(asked: str, text: str, facility: Facility) -> Question:
    """Read a question, or one of several in it; `text` is without its times."""
    # By itself the word is a form of that for a valve.
    text = _VALVED_OFF.sub("isolated", text)
    tokens = [*scan(text, UNSTEMMED, facility)]
    names = [
        QuestionName(one.term, text[one.start : one.end])
        for one in tokens
        if one.is_name or _is_proper(text, one, tokens[0])
    ]
    names = list(dict.fromkeys(names))
    things = [*numbered_things.find_things(text, {one.written for one in names})]
    kind = answer_kinds.find_kind(asked)
    languages = common_words.find_languages(asked)
    terms = _content_words(text, languages, facility)
    words = tuple(terms[UNSTEMMED])
    is_of_state = kind == "what" and answer_kinds.asks_state(asked)
    is_of_last = kind != "how_long" and answer_kinds.asks_last(asked)
    is_how_to = answer_kinds.asks_how_to(asked)
    is_of_times = asks_times(asked)
    for is_asked, is_part in (
        (is_of_state, answer_kinds.is_state_word),
        (is_of_last, answer_kinds.is_last_word),
        (is_how_to, answer_kinds.is_doing_word),
        (is_of_times, is_times_word),
    ):
        if is_asked:
            terms = {one: _without(words, is_part) for one, words in terms.items()}
    question = Question(
        text=asked,
        kind=kind,
        names=tuple(names),
        things=tuple(things),
        terms=terms,
        counted=find_counted(asked),
        is_of_times=is_of_times,
        choices=tuple(_find_choices(text, [*names, *things])),
        is_of_state=is_of_state,
        asks_order=any(map(answer_kinds.is_state_word, _WORD.findall(asked))),
        is_of_last=is_of_last,
        is_how_to=is_how_to,
        is_of_author=kind == "who" and answer_kinds.asks_author(asked),
        languages=languages,
        plain_words=tuple(_list_plain_words(terms[UNSTEMMED], [*names, *things])),
    )
    if is_of_state:
        return replace(question, deed=_find_state(text, words, question))
    if is_how_to:
        return replace(question, deed=deeds.find_task(text, question.words))
    return replace(question, deed=deeds.find_deed(text, question.words))


def _list_plain_words(
    words: Iterable[str], called: Sequence[QuestionName | NumberedThing]
) -> Iterator[str]:
    """Yield the content words that are no part of a name or a numbered thing."""
    parts = {fold_surface(part, "en") for one in called for part in one.written.split()}
    for one in called:
        parts.update(one.words if isinstance(one, NumberedThing) else ())
    return (one for one in words if fold_surface(one, "en") not in parts)


def _find_parted(text: str) -> tuple[str, str]:
    """Return the verb that German parts, and it in one word: `fiel` of `ausfiel`."""
    parted = _PARTED.match(text)
    small = _SMALL.findall(parted["rest"]) if parted else ()
    verb = next(filter(is_content_word, small), "")
    return verb, f"{parted['prefix']}{verb}" if parted else ""


def _find_state(text: str, words: Sequence[str], question: Question) -> str:
    """Return the state that is asked for; empty: whether something is in order."""
    if not words or answer_kinds.is_state_word(words[-1]):
        return ""
    return deeds.find_state(text, question.words) or next(
        reversed(question.plain_words), ""
    )


@functools.lru_cache(maxsize=2048)
def _terms_of(words: str, language: str) -> frozenset[str]:
    return frozenset(one.term for one in scan(words, language))


def _find_choices(
    text: str, called: Sequence[QuestionName | NumberedThing]
) -> Iterator[frozenset[QuestionName | NumberedThing]]:
    """Yield what a question offers to choose between."""
    if not _OR.search(text):
        return
    for one, other in permutations(called, 2):
        either = rf"\b{re.escape(one.written)},?{_OR.pattern}"
        if re.search(rf"{either}{re.escape(other.written)}\b", text):
            yield frozenset({one, other})


def _is_proper(text: str, token: Token, first: Token) -> bool:
    """Tell whether a word is written as a name, and not as any German noun is."""
    written = text[token.start : token.end]
    return (
        token is not first
        and token.kind is None
        and written.istitle()
        and len(written) >= _LEAST_LETTERS
        and is_content_word(token.surface or "")
        and written.lower() not in CALENDAR_WORDS
        and not _GERMAN.search(text)
    )


def _wanted(node: Node | None) -> list[str]:
    found = name_query.wanted_words(node)
    return [one.text for one in found if not isinstance(one, Pattern)]


def _content_words(
    text: str, own: frozenset[str], facility: Facility
) -> dict[str, dict[str, str]]:
    """Return by language the terms of what neither joins, asks, refers nor counts."""
    words = {
        (token.start, token.end)
        for token in scan(text, UNSTEMMED, facility)
        if token.is_name
        or (
            token.kind is None
            and is_content_word(token.surface or "")
            and not common_words.is_telling(token.surface or "", own)
            # `How deep`, `wie hoch`: it asks for a size and is in no answer.
            and not _HOW.search(text, 0, token.start)
        )
    }
    return {
        language: {
            text[token.start : token.end]: token.term
            for token in scan(text, language, facility)
            if (token.start, token.end) in words
        }
        for language in (*STEMMED_LANGUAGES, UNSTEMMED)
    }


def _without(words: dict[str, str], is_part: Callable[[str], bool]) -> dict[str, str]:
    """Return words without those that are part of how one asks; all, if all are."""
    return {word: words[word] for word in words if not is_part(word)} or words


def is_content_word(word: str) -> bool:
    """Tell whether a word neither joins, asks, refers nor counts."""
    if len(word) < 2 or not re.search(r"[^\W\d_]", word):  # noqa: PLR2004 - a letter
        return False
    folded = fold_surface(word, "en")
    return not (folded in _ASKING or is_empty(folded) or _DENIED_VERB.search(folded))
