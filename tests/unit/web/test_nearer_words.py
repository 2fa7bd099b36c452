"""What a misspelt question may have meant, as the search has told it."""

import dataclasses

from api.web.read_as import find_meant
from api.web.search_form import SearchForm
from shared.search.jobs.outcome import Diagnostic
from shared.search.results.visible_expansions import FUZZY, Became, Way

NOTE = Diagnostic("info", "os_bm25", FUZZY, "No entry has the words.", "query")


def told(*ways: Way) -> list[dict[str, object]]:
    return [dataclasses.asdict(one) for one in Became(ways).notes([NOTE])]


def spelt(word: str, *as_: str) -> tuple[Way, ...]:
    return tuple(Way(word, "spelling", one, (one,)) for one in as_)


def test_a_question_is_offered_as_its_hits_spell_it() -> None:
    notes = told(*spelt("vakuum", "vacuum"), *spelt("pmup", "pump", "pumps"))
    form = SearchForm(q="Vakuum pmup GV-08 vakuumed", page=3, open="api/1")

    meant = find_meant(form, notes)

    assert meant == SearchForm(q="vacuum pump GV-08 vakuumed")


def test_nothing_is_offered_where_no_hit_has_another_spelling() -> None:
    assert find_meant(SearchForm(q="vakuum"), told()) is None
    assert find_meant(SearchForm(q="pump"), told(*spelt("vakuum", "vacuum"))) is None
    other = [{"code": "terms_expanded", "message": "`p*` as pump."}]
    assert find_meant(SearchForm(q="p* pump"), other) is None
