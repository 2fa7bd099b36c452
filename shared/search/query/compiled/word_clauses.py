"""The words and phrases of a question as clauses for entries of one language."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from shared.glossary import synonyms
from shared.search.query.compiled import conditions
from shared.search.query.compiled.conditions import Clause, Condition
from shared.text.analysis.tokens import scan
from shared.text.facility.facility import PLAIN, Facility
from shared.text.words import compounds, function_words
from shared.text.words.character_runs import CJK, Token
from shared.text.words.folding import GERMAN, fold_surface, spell_out_umlauts, stem
from shared.times import date_tokens
from shared.vocabulary.expand import Expansion, Want

_CHUNK = re.compile(r"\S++")
# A question mark stands for a character in a name alone, and not at its end.
_IN_A_NAME = re.compile(r"[\d:_]")
_HAS_CJK = re.compile(f"[{CJK}]")

Known = Mapping[Want, Expansion]


@functools.lru_cache(maxsize=1024)
def _scan(text: str, language: str, facility: Facility) -> tuple[Token, ...]:
    """Cut a question into tokens; the cache spares doing it for every branch."""
    return tuple(scan(text, language, facility))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A clause, and where it begins and ends in the text."""

    clause: Clause
    start: int
    end: int


def patterns_of(phrase: str) -> list[str]:
    """Return the patterns in a phrase, which stand for other words."""
    return [match[0] for match in _patterns(phrase)]


def _patterns(phrase: str) -> list[re.Match[str]]:
    return [match for match in _CHUNK.finditer(phrase) if _stands_for_others(match[0])]


def _stands_for_others(chunk: str) -> bool:
    if not any(map(str.isalnum, chunk)):
        return False
    is_name = _IN_A_NAME.search(chunk) is not None
    return "*" in chunk or (is_name and "?" in chunk.rstrip("?!.,;:"))


@dataclass(frozen=True, slots=True)
class Words:
    """Makes clauses of words in one language, with looked-up patterns and spellings."""

    language: str
    facility: Facility = PLAIN
    known: Known = field(default_factory=dict)
    # The languages that the question may be written in; empty: any.
    own: frozenset[str] = frozenset()

    def wanted(self, text: str) -> list[Condition]:
        """Return the clauses of neighbouring words, all of which are wanted."""
        clauses = [one.clause for one in self._clauses(text)]
        forms = synonyms.forms(self.language, self.facility)
        clauses = _with_other_forms(clauses, forms)
        return [self._as_spelt(clause) for clause in clauses]

    def excluded(self, text: str) -> list[Condition]:
        """Return the clauses of negated words, without forms of the glossary.

        Words without a blank between them are a phrase: `x-ray` does not exclude x.
        """
        clauses: list[Condition] = []
        run: list[_Placed] = []
        for placed in self._clauses(text):
            between = text[run[-1].end : placed.start] if run else ""
            if any(map(str.isspace, between)):
                clauses.append(_joined(run))
                run = []
            run.append(placed)
        return [*clauses, _joined(run)] if run else clauses

    def phrase(self, text: str) -> Condition | None:
        """Return the clause of a quoted phrase; None: the quotes hold no word."""
        signs = _patterns(text)
        if signs:
            return self._phrase_of_patterns(text, signs)
        tokens = _scan(text, self.language, self.facility)
        if len(tokens) == 1:
            return replace(self._word(text, tokens[0]), is_exact=True, word=None)
        lexemes = tuple(token.term for token in tokens)
        return Clause(lexemes, is_exact=True) if lexemes else None

    def pattern(self, text: str) -> Condition:
        """Return the terms that a pattern stands for in this language."""
        # A pattern that stands for no word finds nothing, and is still required.
        found = self.known.get(Want("wildcard", text), _NOTHING_KNOWN)
        return conditions.OneOf(found.stems.get(self.language, ()), found.idents, text)

    def joins(self, condition: Condition) -> bool:
        """Tell whether a condition is a function word that joins its neighbours.

        It is one in the language of the entries, or in that of the question.
        """
        if not isinstance(condition, Clause) or condition.is_exact:
            return False
        return any(
            function_words.joins(one, self.language)
            or (self.own and all(function_words.joins(one, own) for own in self.own))
            for one in condition.idents
        )

    def _phrase_of_patterns(
        self, text: str, signs: Sequence[re.Match[str]]
    ) -> Condition:
        places: list[tuple[str, ...]] = []
        at = 0
        for sign in [*signs, None]:
            between = text[at : sign.start() if sign else len(text)]
            tokens = _scan(between, self.language, self.facility)
            places += [(token.term,) for token in tokens]
            if sign is None:
                break
            want = Want("wildcard", sign[0], in_phrase=True)
            found = self.known.get(want, _NOTHING_KNOWN)
            places.append((*found.stems.get(self.language, ()), *found.idents))
            at = sign.end()
        return conditions.Places(tuple(tuple(dict.fromkeys(one)) for one in places))

    def _clauses(self, text: str) -> list[_Placed]:
        clauses: list[_Placed] = []
        run: list[Token] = []
        for token in [*_scan(text, self.language, self.facility), None]:
            if token is not None and _HAS_CJK.match(token.term):
                # Pairs that overlap are one word; apart they would match anything.
                if run and run[-1].end - token.start == 1:
                    run.append(token)
                    continue
                clauses += _cjk_word(run)
                run = [token]
                continue
            clauses += _cjk_word(run)
            run = []
            if token is not None:
                if token.loose and clauses:
                    # `hcm 03`, typed small: both words, or the name they may be.
                    clauses[-1] = _or_named(clauses[-1], token.loose)
                clauses.append(_Placed(self._word(text, token), token.start, token.end))
        return clauses

    def _word(self, text: str, token: Token) -> Clause:
        if token.kind is not None:
            is_time = token.kind == date_tokens.TIME
            colon = date_tokens.insert_colon(token.term) if is_time else None
            # `0730` finds `07:30`, too, and what `RF 0730` may be the name of.
            ways = (token.term, colon, token.loose)
            found = tuple(one for one in ways if one)
            return Clause((token.term,), found, is_exact=token.is_name)
        written = text[token.start : token.end]
        # A word may be part of a name: `0312` finds LOTO-2024-0312.
        whole = fold_surface(written, self.language)
        idents = dict.fromkeys((whole, token.term, token.loose))
        return Clause(
            (token.term,),
            tuple(one for one in idents if one),
            also=self._spellings(written, whole),
            word=written,
        )

    def _spellings(self, written: str, whole: str) -> tuple[tuple[str, ...], ...]:
        """Return other spellings of a word: `Mueller`, or `Kühl-Wasser`."""
        if self.language != GERMAN:
            spelt = spell_out_umlauts(written)
            return ((stem(spelt, self.language),),) if spelt else ()
        spans = compounds.split(whole, self.facility.parts)
        parts = [whole[start:end] for start, end in spans]
        return (tuple(stem(part, GERMAN) for part in parts),) if parts else ()

    def _as_spelt(self, clause: Clause) -> Clause:
        """Return a word's clause, or that of its near spellings if no entry has it."""
        if clause.word is None or not self.known:
            return clause
        found = self.known.get(Want("typo", clause.word), _NOTHING_KNOWN)
        if not found.spellings:
            return clause
        terms = dict.fromkeys(stem(one, self.language) for one in found.spellings)
        first, *others = ((term,) for term in terms)
        idents = dict.fromkeys((*found.spellings, *terms))
        return Clause(first, tuple(idents), also=tuple(others))


_NOTHING_KNOWN = Expansion()


def _joined(run: Sequence[_Placed]) -> Clause:
    if len(run) == 1:
        return run[0].clause
    return Clause(tuple(x for placed in run for x in placed.clause.lexemes))


def _with_other_forms(clauses: list[Clause], forms: synonyms.Forms) -> list[Clause]:
    """Add the glossary's forms of a term to each of its words.

    Each word then matches where the whole of another form stands.
    """
    for first, clause in enumerate(clauses):
        for form in forms.get(clause.lexemes[0], ()) if forms else ():
            words = range(first, min(first + len(form.lexemes), len(clauses)))
            if form.lexemes == tuple(x for n in words for x in clauses[n].lexemes):
                for number in words:
                    word = clauses[number]
                    clauses[number] = replace(
                        word,
                        idents=(*word.idents, *form.idents),
                        also=(*word.also, *form.others),
                    )
    return clauses


def _or_named(placed: _Placed, name: str) -> _Placed:
    clause = placed.clause
    return replace(placed, clause=replace(clause, idents=(*clause.idents, name)))


def _cjk_word(run: Sequence[Token]) -> list[_Placed]:
    if not run:
        return []
    single = run[0].idents if len(run[0].term) == 1 else ()
    clause = Clause(tuple(token.term for token in run), single)
    return [_Placed(clause, run[0].start, run[-1].end)]
