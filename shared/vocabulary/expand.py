"""What a wildcard or a misspelt word of a question stands for, as literal terms.

Both engines get the same terms: the vocabulary is asked once, in one statement.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, LiteralString

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.access import rights
from shared.access.scope import Scope
from shared.text.analysis.analyser import IDENT_PREFIX, quote_lexeme
from shared.text.words.folding import STEMMED_LANGUAGES, fold, fold_surface, stem
from shared.vocabulary import common_words, spelling

# Every language without a stemmer: its words are compared as they stand.
UNSTEMMED = "*"
LANGUAGES = (*STEMMED_LANGUAGES, UNSTEMMED)

MAX_TERMS = 1000
# OpenSearch refuses more ways through one phrase.
MAX_TERMS_IN_PHRASE = 64
# What all wildcards of a question may stand for together, so that many are bounded too.
MAX_TERMS_IN_ALL = 8000
MAX_TERMS_IN_ALL_PHRASES = 128
MAX_SPELLINGS = 5
# So many of the nearest are looked up: whether the caller sees them.
_SPELLINGS_LOOKED_UP = 20
# How many candidates by shared trigrams have their distance counted here.
_CANDIDATES = 300
# A word of so many entries is known: whether the caller sees any is not looked up.
_COMMON = 1000
ALIKE = 0.3
_SIGNS = re.compile(r"([*?])")
_SPECIAL = re.compile(r"([\\%_])")
_LIKE = {"*": "%", "?": "_"}
# `HCM-0?` is kept as `hcm03`; of `LOTO_2024_*` the canonical form has dashes.
_NUMBERED = re.compile(r"([a-z]{1,16})[ _-]([\d*?][a-z\d*?]*)")
# Above every character that a word may have.
_HIGHEST = "\U0010ffff"

# Whether an entry has a word `w` that the caller sees, or so many that they likely do.
_IS_SEEN: LiteralString = f"""
    EXISTS (
        SELECT FROM jsonb_to_recordset(w.forms)
                    AS f (language text, surface text, stem text)
          JOIN lexeme l
            ON l.tenant = %(tenant)s AND l.language = f.language
           AND l.stem = f.stem AND l.n >= {_COMMON})
    OR EXISTS (
        WITH written AS MATERIALIZED (
            SELECT t.entry_id FROM entry_text t
             WHERE t.tenant = %(tenant)s AND t.tsv @@ w.query::tsquery)
        SELECT FROM written JOIN entry e ON e.id = written.entry_id
         WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN})"""
_SEEN_WORDS: LiteralString = f"""
    SELECT w.word
      FROM jsonb_to_recordset(%(words)s::jsonb)
           AS w (word text, forms jsonb, query text)
     WHERE {_IS_SEEN}"""
# The commonest first where there are too many, so that a cap loses the least. A word is
# compared by BETWEEN where it must be equal: the trigrams' index takes `=` as well, and
# is far slower at it. Whether a word is spelt right, hidden entries do not tell.
_EXPAND: LiteralString = f"""
    WITH want AS MATERIALIZED (
        SELECT w.no, w.kind, w.language, w.pattern, w.low, w.high, w.word, w.forms,
               w.query, w.swapped, w.most
          FROM jsonb_to_recordset(%(wants)s::jsonb)
               AS w (no int, kind text, language text, pattern text, low text,
                     high text, word text, forms jsonb, query text, swapped text[],
                     most int)),
    absent AS MATERIALIZED (
        SELECT w.no, w.word, w.swapped, w.most,
               set_config('pg_trgm.similarity_threshold', %(alike)s, true)
          FROM want w
         WHERE w.kind = 'typo'
           AND (NOT EXISTS (
                    SELECT FROM jsonb_to_recordset(w.forms)
                                AS f (language text, surface text, stem text)
                      JOIN lexeme l
                        ON l.tenant = %(tenant)s AND l.language = f.language
                       AND l.surface BETWEEN f.surface AND f.surface)
                AND NOT EXISTS (
                    SELECT FROM jsonb_to_recordset(w.forms)
                                AS f (language text, surface text, stem text)
                      JOIN lexeme l
                        ON l.tenant = %(tenant)s AND l.language = f.language
                       AND l.stem = f.stem)
                AND NOT EXISTS (
                    SELECT FROM ident i
                     WHERE i.tenant = %(tenant)s
                       AND i.ident BETWEEN w.word AND w.word)
                OR w.query IS NOT NULL AND NOT ({_IS_SEEN})))
    SELECT w.no, w.language, t.stem AS term, 0::real AS alike
      FROM want w
     CROSS JOIN LATERAL (
        SELECT l.stem
          FROM lexeme l
         WHERE l.tenant = %(tenant)s AND l.language = w.language
           AND l.surface >= w.low AND l.surface < w.high
           AND l.surface LIKE w.pattern
         GROUP BY l.stem
         ORDER BY sum(l.n) DESC, l.stem
         LIMIT w.most) t
     WHERE w.kind = 'words'
    UNION ALL
    SELECT w.no, w.language, t.stem, 0::real
      FROM want w
     CROSS JOIN LATERAL (
        SELECT l.stem
          FROM lexeme l
         WHERE l.tenant = %(tenant)s AND l.language = w.language
           AND l.surface LIKE w.pattern
         GROUP BY l.stem
         ORDER BY sum(l.n) DESC, l.stem
         LIMIT w.most) t
     WHERE w.kind = 'words_ending'
    UNION ALL
    SELECT w.no, '', t.ident, 0::real
      FROM want w
     CROSS JOIN LATERAL (
        SELECT i.ident
          FROM ident i
         WHERE i.tenant = %(tenant)s AND i.ident >= w.low AND i.ident < w.high
           AND i.ident LIKE w.pattern
         ORDER BY i.n DESC, i.ident
         LIMIT w.most) t
     WHERE w.kind = 'names'
    UNION ALL
    SELECT w.no, '', t.ident, 0::real
      FROM want w
     CROSS JOIN LATERAL (
        SELECT i.ident
          FROM ident i
         WHERE i.tenant = %(tenant)s AND i.ident LIKE w.pattern
         ORDER BY i.n DESC, i.ident
         LIMIT w.most) t
     WHERE w.kind = 'names_ending'
    UNION ALL
    SELECT a.no, '', t.surface, t.alike
      FROM absent a
     CROSS JOIN LATERAL (
        SELECT DISTINCT l.surface, similarity(l.surface, a.word) AS alike
          FROM lexeme l
         WHERE l.tenant = %(tenant)s AND l.language = ANY (%(languages)s)
           AND l.surface %% a.word
           AND char_length(l.surface)
               BETWEEN char_length(a.word) - a.most AND char_length(a.word) + a.most
         ORDER BY alike DESC, l.surface
         LIMIT %(candidates)s) t
    UNION ALL
    SELECT a.no, '', l.surface, similarity(l.surface, a.word)
      FROM absent a
     CROSS JOIN LATERAL unnest(a.swapped) AS s (word)
      JOIN lexeme l
        ON l.tenant = %(tenant)s AND l.language = ANY (%(languages)s)
       AND l.surface BETWEEN s.word AND s.word
    UNION ALL
    SELECT w.no, '', '', 1::real
      FROM want w
     WHERE w.kind = 'typo' AND NOT EXISTS (SELECT FROM absent a WHERE a.no = w.no)"""


@dataclass(frozen=True, slots=True)
class Want:
    """One thing of a question that stands for others.

    A `wildcard` has `*` or `?` in it, at its end alone if it is a prefix; a `typo` is a
    word as it is typed, which may be misspelt.
    """

    kind: Literal["wildcard", "typo"]
    text: str
    in_phrase: bool = False


@dataclass(frozen=True, slots=True)
class Expansion:
    """The literal terms that something stands for; none of any kind: for nothing."""

    # Terms of the stream, by language; `*` is every language without a stemmer.
    stems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Spellings and parts of names; the whole ones are terms of the stream as well.
    idents: tuple[str, ...] = ()
    # Words nearly spelt as the one that no entry has, the nearest first.
    spellings: tuple[str, ...] = ()
    # There were more than it may stand for.
    capped: bool = False
    # A word that entries have as it is spelt: it stands for itself.
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A wildcard for `LIKE`, and the range of terms that it may match.

    `*` stands for any characters and `?` for one; the rest is folded as texts are.
    """

    like: str
    low: str = ""
    high: str = ""


def expand(
    conn: Connection,
    tenant: str,
    wanted: Sequence[Want],
    languages: Sequence[str] = LANGUAGES,
    *,
    alike: float | None = None,
    seen_by: Scope | None = None,
) -> list[Expansion]:
    """Return the expansion of each wanted word, in the order asked; never fails.

    A wildcard without a letter or digit stands for nothing. A word is replaced only
    if no entry of any language has it, nor another form of it, nor a name of which it
    is a part, of all entries or of those that somebody sees; only words of `languages`
    replace it, of such entries. What only hidden entries have may be among the terms of
    a wildcard: it finds nothing there, and must not be told before it is seen in a hit.
    """
    shares = _shares(wanted)
    asked = [
        {"no": no, **row}
        for no, want in enumerate(wanted)
        for row in _asked(want, languages, shares[want.in_phrase])
    ]
    if seen_by is None:
        asked = [{**row, "query": None} for row in asked]
    if not asked:
        return [Expansion() for _ in wanted]
    values = {
        **(seen_by or Scope(tenant, "")).params,
        "tenant": tenant,
        "languages": list(languages),
        "wants": json.dumps(asked),
        "alike": str(ALIKE if alike is None else alike),
        "candidates": _CANDIDATES,
    }
    found: dict[int, list[TupleRow]] = defaultdict(list)
    for row in conn.execute(_EXPAND, values, prepare=True):
        found[row[0]].append(row[1:])
    expanded = [
        _spelt(want, found[no])
        if want.kind == "typo"
        else _terms(found[no], shares[want.in_phrase])
        for no, want in enumerate(wanted)
    ]
    spelt = {word for one in expanded for word in one.spellings}
    if seen_by is not None and spelt:
        asked = [row for word in sorted(spelt) for row in _asked_typo(word)]
        given = {**values, "words": json.dumps(asked)}
        spelt = {word for (word,) in conn.execute(_SEEN_WORDS, given, prepare=True)}
    return [_keep_seen(one, spelt) for one in expanded]


def expand_misspelt(
    conn: Connection,
    scope: Scope,
    wanted: Sequence[Want],
    own: Collection[str],
    *,
    alike: float | None,
    has_others: bool = False,
) -> list[Expansion]:
    """Return the expansion of words that may be misspelt, by the question's languages.

    `has_others` tells that the question has words besides these, which entries have.
    """
    # English words stand in texts of every language.
    languages = () if "en" in own else tuple(own)

    def expand_in(those: Sequence[str]) -> list[Expansion]:
        return expand(conn, scope.tenant, wanted, those, alike=alike, seen_by=scope)

    found = expand_in(languages or LANGUAGES)
    is_met = has_others or any(one.is_known or one.spellings for one in found)
    if languages and not is_met:
        # A German word is taken for an English one only if nothing else is found, and
        # then for one nearly like it: short ones are alike by chance, `weg` and `wet`.
        others = expand_in(LANGUAGES)
        found = [_keep_near(*one) for one in zip(wanted, others, strict=True)]
    return found


def _keep_near(want: Want, found: Expansion) -> Expansion:
    word = fold(want.text)
    near = (one for one in found.spellings if spelling.distance(word, one, 1))
    return replace(found, spellings=tuple(filter(spelling.is_long, near)))


def _shares(wanted: Sequence[Want]) -> dict[bool, int]:
    """Return how many terms each wildcard may stand for, in phrases and elsewhere."""
    count = dict.fromkeys((False, True), 0)
    for want in wanted:
        count[want.in_phrase] += want.kind == "wildcard"
    return {
        False: min(MAX_TERMS, MAX_TERMS_IN_ALL // max(1, count[False])),
        True: max(
            1, min(MAX_TERMS_IN_PHRASE, MAX_TERMS_IN_ALL_PHRASES // max(1, count[True]))
        ),
    }


def _asked(
    want: Want, languages: Sequence[str], share: int
) -> Iterator[dict[str, Any]]:
    # NUL is no character of a text that is stored.
    text = want.text.replace("\0", "")
    if want.kind == "typo":
        yield from _asked_typo(text)
        return
    most = share + 1
    for language in languages:
        pattern = make_word_pattern(text, language)
        if pattern is not None:
            yield {**_ranged("words", pattern), "language": language, "most": most}
    for pattern in make_name_patterns(text):
        yield {**_ranged("names", pattern), "most": most}


def _ranged(kind: str, pattern: Pattern) -> dict[str, Any]:
    if not pattern.low:
        return {"kind": f"{kind}_ending", "pattern": pattern.like}
    ends = {"low": pattern.low, "high": pattern.high}
    return {"kind": kind, "pattern": pattern.like, **ends}


def _asked_typo(text: str) -> Iterator[dict[str, Any]]:
    word = fold(text)
    if not spelling.is_word(word):
        return
    folded = {language: fold_surface(text, language) for language in LANGUAGES}
    forms = [
        {"language": language, "surface": surface, "stem": stem(surface, language)}
        for language, surface in folded.items()
    ]
    most = spelling.tolerance(word)
    terms = dict.fromkeys((*(one["stem"] for one in forms), IDENT_PREFIX + word))
    query = " | ".join(map(quote_lexeme, terms))
    given = {"word": word, "forms": forms, "query": query, "most": most}
    # A short word that has two letters swapped has hardly any trigram left.
    yield {"kind": "typo", "swapped": spelling.swap_neighbours(word), **given}


def _terms(rows: Iterable[TupleRow], most: int) -> Expansion:
    stems: dict[str, list[str]] = defaultdict(list)
    idents: dict[str, None] = {}
    for language, term, _ in rows:
        if language:
            stems[language].append(term)
        else:
            idents[term] = None
    capped = any(len(found) > most for found in [idents, *stems.values()])
    kept_idents = tuple(idents)[:most]
    kept = {name: tuple(found[:most]) for name, found in stems.items()}
    # Words and names together are what an entry of one language is compared with.
    room = most - max(map(len, kept.values()), default=0)
    if len(kept_idents) > room:
        # Each has at least half of the room.
        half = max(room, most // 2)
        kept_idents = kept_idents[:half]
        left = most - len(kept_idents)
        kept = {name: found[:left] for name, found in kept.items()}
        capped = True
    return Expansion(kept, kept_idents, capped=capped)


def _spelt(want: Want, rows: Iterable[TupleRow]) -> Expansion:
    word = fold(want.text.replace("\0", ""))
    most = spelling.tolerance(word)
    ranked = set()
    for _, found, alike in rows:
        if not found:
            return Expansion(is_known=True)
        distance = spelling.distance(word, found, most)
        if distance and not _is_unlikely(word, found, distance):
            ranked.add((distance, -alike, found))
    return Expansion(
        spellings=tuple(found for *_, found in sorted(ranked)[:_SPELLINGS_LOOKED_UP])
    )


def _keep_seen(found: Expansion, seen: Collection[str]) -> Expansion:
    kept = [one for one in found.spellings if one in seen]
    return replace(found, spellings=tuple(kept[:MAX_SPELLINGS]))


def _is_unlikely(word: str, found: str, distance: int) -> bool:
    """Tell whether nobody meant a word: it says nothing, or begins otherwise, too."""
    is_common = any(common_words.is_common(found, one) for one in LANGUAGES)
    return is_common or (distance > 1 and word[0] != found[0])


def make_word_pattern(text: str, language: str) -> Pattern | None:
    """Return the pattern of surfaces in one language; None: it says nothing."""
    parts = filter(None, _SIGNS.split(text))
    return _pattern(
        [part if part in _LIKE else fold_surface(part, language) for part in parts]
    )


def make_name_patterns(text: str) -> list[Pattern]:
    """Return the patterns of a name, in each way that names are kept."""
    lower = text.lower()
    ways = [lower, lower.replace("_", "-")]
    if numbered := _NUMBERED.fullmatch(lower):
        ways.append(numbered[1] + numbered[2])
    if lower.startswith("i:"):
        ways.append(lower.replace(":", "::", 1))
    found = [_pattern(_SIGNS.split(way)) for way in dict.fromkeys(ways)]
    return [one for one in found if one is not None]


def _pattern(parts: list[str]) -> Pattern | None:
    parts = [part for part in parts if part]
    if not any(any(map(str.isalnum, part)) for part in parts if part not in _LIKE):
        return None
    like = "".join(_LIKE.get(part) or _SPECIAL.sub(r"\\\1", part) for part in parts)
    head = parts[0] if parts[0] not in _LIKE else ""
    return Pattern(like, head, head + _HIGHEST if head else "")
