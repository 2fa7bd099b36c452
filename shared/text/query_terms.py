"""A question as the literal terms that both engines compare, language by language.

This is no grammar yet: words are joined by AND, `OR` separates alternatives, quotes
make phrases, `-word` and `NOT word` exclude. Syntax is never an error.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.text import compounds, glossary
from shared.text.analyser import IDENT_PREFIX, quoted
from shared.text.facility import PLAIN, Facility
from shared.text.folding import GERMAN, spelt_out, stem, surface
from shared.text.runs import CJK, Token
from shared.text.tokens import scan

# Words that join others and tell nothing: alone they are searched, beside others not.
# State words (on off up down in out no not again all) are no such words.
_JOINING = {
    "en": "a an the of to and or is are was were be been by for with that this at "
    "from as has have had it its i we you he she they",
    "de": "der die das des dem den ein eine einer eines und oder ist sind war waren "
    "von vom zu zum zur mit bei fur es wir ich er sie im am als hat haben",
    "fr": "le la les un une des du de et ou est sont etait par pour avec ce cette que "
    "qui a au aux il elle nous l d",
    "it": "il lo la i gli le un una di del della dei e o era sono per con che da si "
    "al alla l d",
    "es": "el la los las un una de del y o es son era por para con que se al lo",
}
_JOINING_WORDS = {name: frozenset(words.split()) for name, words in _JOINING.items()}

_PART = re.compile(
    r"(?P<minus>(?<!\S)(?:[-\u2212]|NOT\s++)(?=[\"\u201c\w]))?"
    r'(?:["\u201c\u201d](?P<phrase>[^"\u201c\u201d]*+)["\u201c\u201d]?'
    r'|(?P<plain>[^\s"\u201c\u201d]++))'
)
_HAS_CJK = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing to find: a term or a phrase of them, or else one of the idents."""

    lexemes: tuple[str, ...]
    idents: tuple[str, ...] = ()
    # Never relaxed to any-of: identifiers and what stands in quotes.
    is_exact: bool = False
    # Phrases that do as well: other spellings, and forms of the glossary.
    also: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LanguageTerms:
    """The question compiled for entries of one language."""

    language: str
    # Alternatives by OR, each a list of clauses by AND.
    any_of: tuple[tuple[Clause, ...], ...]
    excluded: tuple[Clause, ...] = ()

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """Return every positive clause, each once."""
        return tuple(dict.fromkeys(c for option in self.any_of for c in option))


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The question for every language in use."""

    by_language: tuple[LanguageTerms, ...]
    # How many plain words were left out because there were too many.
    dropped: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing positive is asked for."""
        return not any(terms.any_of for terms in self.by_language)

    @property
    def has_negations(self) -> bool:
        """Whether anything is excluded, in every branch."""
        return any(terms.excluded for terms in self.by_language)


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    is_phrase: bool = False
    is_negated: bool = False


def analyse_query(
    text: str,
    languages: Sequence[str],
    *,
    max_terms: int = 64,
    facility: Facility = PLAIN,
) -> QueryTerms:
    """Return the terms of a question; total over any text."""
    options = _options(text)
    compiled = [
        _Compiler(name, facility).terms(options, max_terms) for name in languages
    ]
    return QueryTerms(
        by_language=tuple(terms for terms, _ in compiled),
        dropped=max((dropped for _, dropped in compiled), default=0),
    )


def joins(word: str, language: str) -> bool:
    """Whether a word only joins others: beside them it is not searched."""
    return word in _JOINING_WORDS.get(language, ())


def without_negations(text: str) -> str:
    """Return what a question asks for; what it excludes has no meaning to compare."""
    parts = [part for option in _options(text) for part in option]
    return " ".join(part.text for part in parts if not part.is_negated)


def tsquery(terms: LanguageTerms, *, relaxed: bool = False) -> str | None:
    """Return the text to cast to `tsquery`, or None where nothing is asked for.

    Relaxed, any plain word is enough; what is exact or excluded still holds.
    """
    options = [_conjunction(option, relaxed=relaxed) for option in terms.any_of]
    wanted = " | ".join(f"({option})" for option in options if option)
    unwanted = excluded_tsquery(terms)
    if unwanted is None:
        return wanted or None
    return f"({wanted}) & !({unwanted})" if wanted else f"!({unwanted})"


def excluded_tsquery(terms: LanguageTerms) -> str | None:
    """Return the text to cast to `tsquery` of what no answer may hold."""
    return " | ".join(_matching(clause) for clause in terms.excluded) or None


def _conjunction(clauses: Sequence[Clause], *, relaxed: bool) -> str:
    if not relaxed:
        return " & ".join(_matching(clause) for clause in clauses)
    exact = [_matching(clause) for clause in clauses if clause.is_exact]
    plain = [_matching(clause) for clause in clauses if not clause.is_exact]
    if exact:
        # Plain words then only rank; they would gate nothing.
        return " & ".join(exact)
    return " | ".join(plain)


def _matching(clause: Clause) -> str:
    phrases = (clause.lexemes, *clause.also)
    parts = [" <-> ".join(quoted(term) for term in phrase) for phrase in phrases]
    parts += [quoted(IDENT_PREFIX + ident) for ident in clause.idents]
    return f"({' | '.join(f'({part})' for part in parts if part)})"


def _options(text: str) -> list[list[_Part]]:
    """Split a question at its ORs; NOT binds its word, AND is what no word means."""
    options: list[list[_Part]] = [[]]
    for match in _PART.finditer(text):
        minus, phrase, plain = match["minus"], match["phrase"], match["plain"]
        if phrase is not None:
            options[-1].append(_Part(phrase, is_phrase=True, is_negated=bool(minus)))
        elif minus is None and plain == "OR":
            options.append([])
        elif minus or plain not in {"AND", "NOT"}:
            options[-1].append(_Part(plain, is_negated=bool(minus)))
    return [_joined(option) for option in options]


def _joined(parts: list[_Part]) -> list[_Part]:
    """Read neighbouring words together again: `HCM 03` is one name."""
    joined: list[_Part] = []
    for part in parts:
        before = joined[-1] if joined else None
        if before and not (
            part.is_phrase or part.is_negated or before.is_phrase or before.is_negated
        ):
            joined[-1] = _Part(f"{before.text} {part.text}")
        else:
            joined.append(part)
    return joined


@functools.lru_cache(maxsize=1024)
def _scan(text: str, language: str, facility: Facility) -> tuple[Token, ...]:
    """Read a question once, not for every branch."""
    return tuple(scan(text, language, facility))


@dataclass(frozen=True, slots=True)
class _Compiler:
    """Makes clauses for entries of one language."""

    language: str
    facility: Facility

    def terms(
        self, options: Sequence[Sequence[_Part]], max_terms: int
    ) -> tuple[LanguageTerms, int]:
        any_of: list[tuple[Clause, ...]] = []
        excluded: list[Clause] = []
        dropped = 0
        for parts in options:
            wanted: list[Clause] = []
            for part in parts:
                if part.is_negated:
                    excluded += self._negated(part)
                elif part.is_phrase:
                    wanted += self._phrase(part.text)
                else:
                    words = self._words(part.text)
                    forms = glossary.forms(self.language, self.facility)
                    wanted += _with_other_forms(words, forms)
            kept = _gating(tuple(dict.fromkeys(wanted)), self.language)
            kept, over = _bounded(kept, max_terms)
            dropped += over
            if kept:
                any_of.append(kept)
        unique = tuple(dict.fromkeys(any_of)), tuple(dict.fromkeys(excluded))
        return LanguageTerms(self.language, *unique), dropped

    def _words(self, text: str) -> list[Clause]:
        clauses: list[Clause] = []
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
                clauses.append(self._word(text, token))
        return clauses

    def _word(self, text: str, token: Token) -> Clause:
        if token.kind is not None:
            return Clause((token.term,), (token.term,), is_exact=token.is_name)
        written = text[token.start : token.end]
        # A word may be part of a name: `0312` finds LOTO-2024-0312.
        whole = surface(written, self.language)
        idents = dict.fromkeys((whole, token.term, token.loose))
        return Clause(
            (token.term,),
            tuple(one for one in idents if one),
            also=self._spellings(written, whole),
        )

    def _spellings(self, written: str, whole: str) -> tuple[tuple[str, ...], ...]:
        """Return how else a word is written: `Mueller`, or `Kühl-Wasser`."""
        if self.language != GERMAN:
            spelt = spelt_out(written)
            return ((stem(spelt, self.language),),) if spelt else ()
        spans = compounds.split(whole, self.facility.parts)
        parts = [whole[start:end] for start, end in spans]
        return (tuple(stem(part, GERMAN) for part in parts),) if parts else ()

    def _phrase(self, text: str) -> list[Clause]:
        tokens = _scan(text, self.language, self.facility)
        if len(tokens) == 1:
            return [replace(self._word(text, tokens[0]), is_exact=True)]
        lexemes = tuple(token.term for token in tokens)
        return [Clause(lexemes, is_exact=True)] if lexemes else []

    def _negated(self, part: _Part) -> list[Clause]:
        """Exclude a word with its spellings; one of several pieces, as their phrase."""
        if part.is_phrase:
            return self._phrase(part.text)
        clauses = self._words(part.text)
        if len(clauses) <= 1:
            return clauses
        return [Clause(tuple(x for clause in clauses for x in clause.lexemes))]


def _with_other_forms(clauses: list[Clause], forms: glossary.Forms) -> list[Clause]:
    """Add the glossary's forms to the words of a term; each word may be all of one."""
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


def _or_named(clause: Clause, name: str) -> Clause:
    return replace(clause, idents=(*clause.idents, name))


def _cjk_word(run: Sequence[Token]) -> list[Clause]:
    if not run:
        return []
    single = run[0].idents if len(run[0].term) == 1 else ()
    return [Clause(tuple(token.term for token in run), single)]


def _gating(clauses: tuple[Clause, ...], language: str) -> tuple[Clause, ...]:
    joining = _JOINING_WORDS.get(language, frozenset())
    telling = tuple(
        c for c in clauses if c.is_exact or not joining.intersection(c.idents)
    )
    return telling or clauses


def _bounded(
    clauses: tuple[Clause, ...], max_terms: int
) -> tuple[tuple[Clause, ...], int]:
    """Drop plain words beyond the limit; never a phrase or an identifier."""
    over = max(0, len(clauses) - max_terms)
    plain = [clause for clause in clauses if not clause.is_exact]
    gone = set(plain[len(plain) - over :]) if over else set()
    kept = tuple(clause for clause in clauses if clause not in gone)
    return kept, len(clauses) - len(kept)
