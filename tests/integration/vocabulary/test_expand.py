"""What wildcards and misspelt words stand for, against a model that reads it all."""

import json
import random
import re
from collections.abc import Iterable

import pytest

from shared.access.scope import Scope
from shared.text.words.folding import stem
from shared.vocabulary import expand
from shared.vocabulary.expand import LANGUAGES, Want
from tests.support.faults.measures.size import times
from tests.unit.vocabulary.test_spelling import apart

TENANT = "default"
SEED = 20_260_708
QUESTIONS = times(120, 400)


def learn(
    conn, words: Iterable[tuple[str, str]], idents: Iterable[str] = (), n: int = 1
) -> None:
    with conn.cursor() as cur:
        cur.executemany(
            "INSERT INTO lexeme (tenant, language, surface, stem, n)"
            " VALUES (%s, %s, %s, %s, %s)",
            [(TENANT, lang, word, stem(word, lang), n) for lang, word in words],
        )
        cur.executemany(
            "INSERT INTO ident (tenant, ident, n) VALUES (%s, %s, 1)",
            [(TENANT, one) for one in idents],
        )


def one(conn, want: Want, tenant: str = TENANT) -> expand.Expansion:
    (found,) = expand.expand(conn, tenant, [want])
    return found


def trigrams(word: str) -> set[str]:
    padded = f"  {word} "
    return {padded[n : n + 3] for n in range(len(padded) - 2)}


def alike(left: str, right: str) -> float:
    both = trigrams(left) & trigrams(right)
    return len(both) / len(trigrams(left) | trigrams(right))


def is_swapped(left: str, right: str) -> bool:
    """Tell whether two words are alike but for two letters side by side."""
    places = range(len(left) - 1) if len(left) > 3 and left != right else ()
    return any(
        left[:at] + left[at + 1] + left[at] + left[at + 2 :] == right for at in places
    )


class Model:
    """The whole vocabulary in memory, gone through for every question."""

    def __init__(self, words: set[tuple[str, str]], idents: set[str]) -> None:
        self.words = words
        self.idents = idents

    def wildcard(self, text: str) -> tuple[dict[str, set[str]], set[str]]:
        signs = {"*": ".*", "?": "."}
        pattern = "".join(signs.get(c, re.escape(c)) for c in text)
        matches = re.compile(pattern, re.DOTALL).fullmatch
        stems: dict[str, set[str]] = {}
        for language, word in self.words:
            if matches(word):
                stems.setdefault(language, set()).add(stem(word, language))
        return stems, {one for one in self.idents if matches(one)}

    def has(self, word: str) -> bool:
        forms = {(name, stem(word, name)) for name in LANGUAGES}
        stems = {(name, stem(known, name)) for name, known in self.words}
        surfaces = {known for _, known in self.words}
        return word in surfaces or bool(forms & stems) or word in self.idents

    def typo(self, word: str) -> list[str]:
        surfaces = {known for _, known in self.words}
        if self.has(word):
            return []
        most = 2 if len(word) >= 6 else 1
        near = {known: apart(word, known) for known in surfaces}
        found = [
            (distance, -alike(word, known), known)
            for known, distance in near.items()
            if distance <= most
            and (alike(word, known) >= 0.3 or is_swapped(word, known))
            and (distance == 1 or known[0] == word[0])
        ]
        return [known for *_, known in sorted(found)[:5]]


@pytest.fixture
def model(conn) -> Model:
    rng = random.Random(SEED)
    words = {
        (rng.choice(LANGUAGES), "".join(rng.choices("abn", k=rng.randint(1, 8))))
        for _ in range(400)
    }
    words = {(name, word) for name, word in words if "ae" not in word}
    idents = {"".join(rng.choices("ab:-1", k=rng.randint(2, 7))) for _ in range(300)}
    learn(conn, words, idents)
    return Model(words, idents)


def test_wildcards_stand_for_what_a_reading_of_everything_finds(conn, model):
    rng = random.Random(SEED + 1)
    texts = [
        "".join(rng.choices("abn1:*?", k=rng.randint(1, 6))) for _ in range(QUESTIONS)
    ]
    wants = [Want("wildcard", text) for text in texts]

    # So few at a time that each may stand for all that there is.
    found = [
        expansion
        for first in range(0, len(wants), 8)
        for expansion in expand.expand(conn, TENANT, wants[first : first + 8])
    ]

    counted = {"none": 0, "some": 0}
    for text, got in zip(texts, found, strict=True):
        # A sign between letters is folded away from words, not from names.
        stems, _ = model.wildcard(text.replace(":", ""))
        _, idents = model.wildcard(text)
        if set(text) <= set(":*?"):
            stems, idents = {}, set()
        assert {name: set(some) for name, some in got.stems.items()} == stems, text
        assert set(got.idents) == idents, text
        counted["some" if stems or idents else "none"] += 1
    assert min(counted.values()) > QUESTIONS // 20, counted


def test_misspelt_words_are_replaced_as_a_reading_of_everything_says(conn, model):
    rng = random.Random(SEED + 2)
    words = ["".join(rng.choices("abn", k=rng.randint(3, 9))) for _ in range(QUESTIONS)]

    found = expand.expand(conn, TENANT, [Want("typo", word) for word in words])

    replaced = 0
    for word, got in zip(words, found, strict=True):
        assert list(got.spellings) == model.typo(word), word
        assert got.is_known == model.has(word), word
        replaced += bool(got.spellings)
    assert QUESTIONS // 8 < replaced < QUESTIONS, replaced


def test_a_prefix_finds_the_stem_that_it_goes_beyond(conn):
    learn(conn, [("en", "injection"), ("en", "injected"), ("en", "inject")])

    assert one(conn, Want("wildcard", "injecti*")).stems == {"en": ("inject",)}


def test_wildcards_run_over_the_parts_of_names(conn):
    learn(conn, [], ["sr:c01-rf:trip", "sr:c01-rf", "sr:c01-va", "sr:c1-rf", "hcm03"])

    assert one(conn, Want("wildcard", "SR:C??-RF*")).idents == (
        "sr:c01-rf",
        "sr:c01-rf:trip",
    )
    assert one(conn, Want("wildcard", "HCM-0?")).idents == ("hcm03",)


@pytest.mark.parametrize(("in_phrase", "most"), [(False, 1000), (True, 64)])
def test_no_more_terms_than_allowed_and_then_it_is_said(conn, in_phrase, most):
    letters = "abcdefghijklmnopqrst"
    words = [f"z{a}{b}{c}" for a in letters for b in letters for c in letters[:3]]
    learn(conn, [("*", word) for word in words[:most]])
    exactly = one(conn, Want("wildcard", "z*", in_phrase=in_phrase))
    assert (len(exactly.stems["*"]), exactly.capped) == (most, False)

    learn(conn, [("*", word) for word in words[most : most + 1]])
    conn.execute("UPDATE lexeme SET n = 9 WHERE surface = %s", (words[most],))
    over = one(conn, Want("wildcard", "z*", in_phrase=in_phrase))
    assert (len(over.stems["*"]), over.capped) == (most, True)
    assert over.stems["*"][0] == words[most]


def test_words_and_names_share_the_limit(conn):
    letters = "abcdefghijklmnopqrst"
    words = [f"z{a}{b}" for a in letters for b in letters]
    learn(conn, [("*", word) for word in words], [f"{word}7" for word in words])

    found = one(conn, Want("wildcard", "z*", in_phrase=True))

    assert (len(found.stems["*"]), len(found.idents), found.capped) == (32, 32, True)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("cavty", ("cavity",)),
        ("Cavitiy", ("cavity",)),
        ("magnett", ("magnet",)),
        ("Kühlwaser", ("kuhlwasser",)),
        # Known by another form, as a part of a name, or no word at all.
        ("cavities", ()),
        ("loto", ()),
        ("hcm4", ()),
        # Two letters off, and too many: two in a short word, three in a long one.
        ("maggnets", ("magnet",)),
        ("beaams", ("beam",)),
        ("cavi", ()),
        ("maggnettss", ()),
        # One letter off at its beginning, and two.
        ("gavity", ("cavity",)),
        ("gavitty", ()),
        # Two letters swapped, of which few trigrams are left; three and more are not.
        ("bema", ("beam",)),
        ("abem", ()),
        ("cvaity", ("cavity",)),
        # What says nothing is meant by nobody.
        ("michh", ()),
    ],
)
def test_a_word_is_replaced_only_if_nothing_has_it(conn, typed, expected):
    words = [
        *(("en", word) for word in ("cavity", "beam", "magnet")),
        *(("de", word) for word in ("kuhlwasser", "mich")),
    ]
    learn(conn, words, ["hcm3", "loto", "hcm"])

    assert one(conn, Want("typo", typed)).spellings == expected


def test_at_most_five_spellings_the_nearest_first(conn):
    # Less alike is what ends otherwise than what goes on.
    words = ["cavitz", "cavi", "cavita", "cavite", "cavito", "cavitu", "cavity"]
    learn(conn, [("*", word) for word in words])

    found = one(conn, Want("typo", "cavit")).spellings

    assert found == ("cavita", "cavite", "cavito", "cavitu", "cavity")


@pytest.mark.requirement("C05")
def test_what_is_nearly_spelt_so_is_found_by_the_index_of_trigrams(conn):
    conn.execute(
        "INSERT INTO lexeme (tenant, language, surface, stem)"
        " SELECT %s, 'en', md5(n::text), md5(n::text) FROM generate_series(1, 30000) n",
        (TENANT,),
    )
    # As they stand once the table was vacuumed.
    conn.execute("SELECT gin_clean_pending_list('lexeme_trigrams')")
    conn.execute("ANALYZE lexeme")
    want = {"no": 0, "kind": "typo", "word": "magnett", "most": 2, "forms": []}
    values: dict[str, object] = {
        **Scope(TENANT, "anna").params,
        "languages": list(expand.LANGUAGES),
        "alike": str(expand.ALIKE),
        "candidates": 300,
        "wants": json.dumps([want]),
    }

    rows = conn.execute(f"EXPLAIN (COSTS OFF) {expand._EXPAND}", values).fetchall()

    plan = "\n".join(row[0] for row in rows)
    assert "Bitmap Index Scan on lexeme_trigrams" in plan


def test_a_word_of_another_language_is_no_misspelling(conn):
    learn(conn, [("de", "strahl"), ("en", "strall")])

    assert one(conn, Want("typo", "Strahl")).spellings == ()


def test_another_tenants_words_are_not_there(conn):
    learn(conn, [("en", "cavity")], ["hcm3"])

    assert one(conn, Want("wildcard", "cav*"), "other") == expand.Expansion()
    assert one(conn, Want("wildcard", "hcm*"), "other") == expand.Expansion()
    assert one(conn, Want("typo", "cavty"), "other") == expand.Expansion()


@pytest.mark.parametrize(
    "text",
    ["", "\0", "*", "\\*", "'*", "a\0b*", "%*", "\U0010ffff*", "真空*", "x" * 9999],
)
def test_any_text_is_taken(conn, text: str):
    learn(conn, [("en", "cavity")], ["hcm3"])
    wants = [Want("wildcard", text), Want("typo", text)]

    assert expand.expand(conn, TENANT, wants) == [expand.Expansion()] * 2


def test_many_wildcards_of_a_question_share_what_all_may_stand_for(conn):
    learn(conn, [("en", f"word{n:03}") for n in range(200)])
    wants = [Want("wildcard", f"{'word'[: 1 + n % 4]}*") for n in range(100)]
    found = expand.expand(conn, TENANT, wants)
    assert all(len(one.stems["en"]) == 80 and one.capped for one in found)
    inside = [Want("wildcard", "word*", in_phrase=True)] * 200
    found = expand.expand(conn, TENANT, inside)
    assert all(len(one.stems["en"]) == 1 for one in found)


@pytest.mark.parametrize(
    ("typed", "spellings"),
    [
        # Everyday words that are like English ones by chance.
        ("weg", ()),
        ("Hund", ()),
        ("Licht", ()),
        ("Keller", ()),
        # One wrong letter in what both languages have.
        ("Klystrom", ("klystron",)),
    ],
)
def test_a_word_of_a_german_question_is_no_english_word(conn, typed, spellings) -> None:
    words = ("wet", "hung", "light", "kelly", "klystron")
    # So many entries have them that everybody sees some.
    learn(conn, [("en", word) for word in words], n=1000)
    want = [Want("typo", typed)]
    (found,) = expand.expand_misspelt(
        conn, Scope(TENANT, "anna"), want, {"de"}, alike=None
    )
    assert found.spellings == spellings
