"""An answer's marks become links to the sentences that they cite."""

from typing import Any
from uuid import UUID

from api.web.answer_card import Reference, compose_card

ONE = "0199f0c2-0000-7000-8000-000000000001"
TEXT = "Gate valve 8 closed at 02:10. I think it fell shut. Air was at 4.1 bar."


def body(answer: str, *evidence: tuple[str, int | None]) -> dict[str, Any]:
    return {
        "answer": answer,
        "citations": [
            {
                "label": "OPS-1",
                "entry_id": ONE,
                "revision": 2,
                "permalink": "/e/ops/OPS-1",
                "title": "Gate valve 8",
                "quote": "Air was at 4.1 bar.",
            }
        ],
        "context_answer": {
            "evidence": [
                {"entry_id": ONE, "quote": quote, "start": start}
                for quote, start in evidence
            ]
        },
    }


def card_of(answer: str, *evidence: tuple[str, int | None]) -> list[Reference]:
    texts = {(UUID(ONE), 2): TEXT}
    return compose_card(body(answer, *evidence), texts).references


def test_each_sentence_of_an_entry_has_a_number_and_an_anchor_of_its_own() -> None:
    said = "I think it fell shut [#OPS-1@2]. Gate valve 8 closed at 02:10 [#OPS-1@2]."

    found = card_of(
        said,
        ("Gate valve 8 closed at 02:10.", 0),
        ("I think it fell shut.", TEXT.index("I think")),
    )

    assert [(one.number, one.path) for one in found] == [
        (1, "/e/ops/OPS-1@2#s2"),
        (2, "/e/ops/OPS-1@2#s1"),
    ]


def test_two_sentences_of_an_entry_are_of_one_entry() -> None:
    said = "Gate valve 8 closed at 02:10 [#OPS-1@2]. I think it fell shut [#OPS-1@2]."
    asked = body(said, ("Gate valve 8 closed at 02:10.", 0))
    card = compose_card(asked, {(UUID(ONE), 2): TEXT})
    assert (len(card.references), card.entries) == (2, 1)


def test_what_is_cited_from_a_title_leads_to_the_title() -> None:
    found = card_of("Gate valve 8 [#OPS-1@2].", ("Gate valve 8", None))

    assert [one.path for one in found] == ["/e/ops/OPS-1@2#title"]


def test_what_no_evidence_tells_is_looked_for_in_the_text() -> None:
    found = card_of("Air was at 4.1 bar [#OPS-1@2].")

    assert [one.path for one in found] == ["/e/ops/OPS-1@2#s3"]


def test_a_mark_of_nothing_that_is_cited_stays_as_it_is() -> None:
    card = compose_card(body("Nothing [#other@1]."), {})

    assert card.references == []
    assert "".join(map(str, card.paragraphs[0])) == "Nothing [#other@1]."
