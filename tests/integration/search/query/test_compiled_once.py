"""A question is compiled once for each language, by whichever step asks first."""

from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.search.query.compiled import compiled_question
from shared.search.response.search import search


@pytest.mark.parametrize("debug", [False, True])
def test_branches_and_the_end_of_a_search_share_one_compiled_question(
    asking: Any, monkeypatch: pytest.MonkeyPatch, *, debug: bool
) -> None:
    asking.write(EntryDraft("api", "one", "The klystron tripped in the morning"))
    compile_language, languages = compiled_question._compiled, []

    def noted(*args: Any) -> Any:
        languages.append(args[-1])
        return compile_language(*args)

    monkeypatch.setattr(compiled_question, "_compiled", noted)
    compiled_question._plainly.cache_clear()

    answer = search(asking.context, asking.plan("klystron", mode="hybrid", debug=debug))

    assert [one.external_id for one in answer.results] == ["one"]
    assert len(languages) == len(set(languages)) > 1
