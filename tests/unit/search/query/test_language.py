"""A question as a tree: the table of questions, and what holds for any text at all."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shared.search.query.filters.filters import Filters
from shared.search.query.language import grammar, required_fields, tree, tree_text
from shared.search.query.language.tree import (
    And,
    Field,
    Node,
    Not,
    Or,
    Pattern,
    Phrase,
    Words,
)
from shared.times.calendar import Clock
from tests.support.linear_cost import assert_linear

ROWS = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))
CLOCK = Clock(datetime(2024, 6, 12, 12, tzinfo=UTC))

_SIGNS = st.sampled_from(
    [
        *("AND", "OR", "NOT", "-", "(", ")", '"', "\u201c", "*", "?", " ", " ", " "),
        *("beam", "HCM03", "SR:C??", "author:smith", "date:", "last", "week", "--"),
    ]
)
_QUOTES = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02]')
QUESTIONS = st.one_of(st.text(), st.lists(_SIGNS).map("".join))


def shown(node: Node | None) -> Any:
    """Return a tree as the table writes it."""
    match node:
        case None:
            return None
        case Words(text):
            return text
        case Phrase(text):
            return {"phrase": text}
        case Pattern(text):
            return {"pattern": text}
        case Field(written=written):
            return {"field": written}
        case Not(part):
            return {"not": shown(part)}
        case And(parts, is_written):
            return {"AND" if is_written else "and": [shown(one) for one in parts]}
        case Or(parts):
            return {"or": [shown(one) for one in parts]}


@pytest.mark.requirement("S0-21", "S0-22")
@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{n}-{r['ask']!a}" for n, r in enumerate(ROWS)]
)
def test_a_question_is_understood_as_the_table_says(row: dict[str, Any]) -> None:
    parsed = grammar.parse(row["ask"], CLOCK)
    assert shown(parsed.tree) == row["tree"]
    assert [note.code for note in parsed.diagnostics] == row.get("notes", [])


def test_the_table_has_a_hundred_questions() -> None:
    assert len(ROWS) >= 100
    assert len({row["ask"] for row in ROWS}) == len(ROWS)


@given(QUESTIONS)
@example("(" * 40 + "a" + ")" * 40)
@example('"' * 7)
@example("\ud800 \x00 author:\x00")
def test_any_text_is_understood(text: str) -> None:
    parsed = grammar.parse(text, CLOCK)
    if parsed.tree is not None:
        assert tree.from_values(tree.to_values(parsed.tree)) == parsed.tree
        assert _depth(parsed.tree) <= 3 * (grammar.MAX_NESTING + 1)
    required_fields.lift(parsed.tree, Filters())
    tree_text.wanted_text(parsed.tree)


@pytest.mark.requirement("S0-22")
@given(QUESTIONS)
@example("HCM(3) date:last (week trip)")
@example('"beam"-loss (what HCM0?)')
@example("a | b && !c")
@example("<0")
def test_a_tree_typed_again_is_understood_alike(text: str) -> None:
    first = grammar.parse(text, CLOCK)
    # Whether `?` ends the question is seen from what is left out behind it.
    assume("?" not in text or not first.diagnostics)
    again = grammar.parse(tree_text.text_of(first.tree), CLOCK)
    assert _bare(again.tree) == _bare(first.tree)
    # What could not be read, or compares nothing, is text still, and is said again.
    is_text = {*grammar.UNREAD, "comparison_ignored"}
    assert {note.code for note in again.diagnostics} <= is_text


@pytest.mark.requirement("S0-22")
@given(QUESTIONS)
def test_every_part_says_where_it_begins(text: str) -> None:
    found = grammar.parse(text, CLOCK).tree
    for leaf in _leaves(found):
        begins = text[leaf.start :]
        if isinstance(leaf, Phrase):
            assert begins[1:].lstrip().startswith(leaf.text)
        elif isinstance(leaf, Field):
            assert begins.startswith(f"{leaf.name}:")
        else:
            # Quotes of any kind may stand behind the name of a field.
            written = _QUOTES.sub("", leaf.text).split() or [""]
            assert _QUOTES.sub("", begins).startswith(written[0])


@pytest.mark.parametrize(
    "text",
    ["(", ")", "()", "NOT ", "-(", "(NOT ", '"', "date:x ", "a OR ", "x(a OR ", "a1? "],
)
def test_a_long_question_takes_time_in_proportion_to_its_length(text: str) -> None:
    asked = text * (10_000 // len(text))
    assert_linear(lambda part: grammar.parse(part, CLOCK), asked)


def test_brackets_too_deep_are_ignored_and_said() -> None:
    deep = grammar.MAX_NESTING
    fine = "(a OR b " * deep + ")" * deep
    assert grammar.parse(fine).diagnostics == ()
    notes = grammar.parse(f"({fine})").diagnostics
    assert [note.code for note in notes] == ["brackets_ignored"] * 2


@pytest.mark.requirement("S0-22")
def test_each_thing_that_is_left_out_is_said_with_its_place_up_to_a_few() -> None:
    notes = grammar.parse("date:foo -- date:bar (pump", CLOCK).diagnostics
    assert {note.message.partition(" at character ")[0::2] for note in notes} == {
        ("date:foo", "1 cannot be read as a field; it is searched as text."),
        ("--", "10 negates nothing and is left out."),
        ("date:bar", "13 cannot be read as a field; it is searched as text."),
        ("(", "22 has no other, or stands too deep, and is ignored."),
    }
    many = grammar.parse("( " * 100 + "date:x " * 100, CLOCK).diagnostics
    codes = [note.code for note in many]
    assert codes == ["brackets_ignored"] * 5 + ["date_unreadable"] * 5


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("tags:rf", "tag:rf"),
        ("authors:smith", "author:smith"),
        ("source_system:olog", "source:olog"),
        ("start_date:2024-06", "since:2024-06"),
        ("end_date:last week", "until:last week"),
    ],
)
def test_a_field_may_be_called_as_requests_call_its_filter(alias, name) -> None:
    found, same = (
        required_fields.lift(
            grammar.parse(f"pump {one}", CLOCK).tree, Filters()
        ).filters
        for one in (alias, name)
    )
    assert found == same != Filters()


def test_a_diagnostic_says_where_it_is_about() -> None:
    notes = grammar.parse("beam (loss OR", CLOCK).diagnostics
    assert [(note.code, note.level) for note in notes] == [
        ("brackets_ignored", "info"),
        ("operator_ignored", "info"),
    ]
    assert notes[0].message.startswith("( at character 6 ")
    assert notes[1].message.startswith("OR at character 12 ")


def test_an_id_may_be_ours_or_one_of_a_source_that_looks_like_ours() -> None:
    text = "d41d8cd98f00b204e9800998ecf8427e"
    asked = grammar.parse(f"id:{text}", CLOCK).tree
    assert isinstance(asked, Field)
    assert asked.filters.ids == (text, "d41d8cd9-8f00-b204-e980-0998ecf8427e")


def test_fields_that_every_hit_must_pass_become_filters() -> None:
    asked = grammar.parse("author:smith beam (level:trip AND loss)", CLOCK).tree
    lifted = required_fields.lift(asked, Filters(sources=("olog",)))
    assert shown(lifted.tree) == {"and": ["beam", "loss"]}
    assert [one.name for one in lifted.fields] == ["author", "level"]
    filters = lifted.filters
    assert (filters.sources, filters.people) == (("olog",), ("smith",))
    assert [one.any_of for one in filters.facts] == [("trip",)]


@pytest.mark.parametrize(
    "text", ["-author:smith", "author:a OR beam", "author:a author:b"]
)
def test_a_field_that_no_filter_can_hold_stays_in_the_tree(text: str) -> None:
    left = required_fields.lift(grammar.parse(text, CLOCK).tree, Filters()).tree
    assert [leaf.name for leaf in _leaves(left) if isinstance(leaf, Field)]


def test_the_request_and_the_question_both_hold() -> None:
    given_one = Filters(sources=("olog", "elog"), since="2024-06-01T00:00:00.000+00:00")
    asked = grammar.parse("source:elog since:2024-05 before:2024-07", CLOCK).tree
    lifted = required_fields.lift(asked, given_one)
    assert lifted.tree is None
    assert lifted.filters == Filters(
        sources=("elog",),
        since="2024-06-01T00:00:00.000+00:00",
        until="2024-07-01T00:00:00.000+00:00",
    )


def test_what_is_excluded_has_no_meaning() -> None:
    asked = grammar.parse('beam -trip NOT "ion pump" (inject* OR off) author:x').tree
    assert tree_text.wanted_text(asked) == "beam inject off"


@pytest.mark.parametrize("text", ["SR:C??-RF*", "HCM0*", "BTS_*_Q?", "x-ra?s", "b*m"])
def test_a_name_with_gaps_has_no_meaning_and_is_asked_for_all_the_same(text) -> None:
    asked = grammar.parse(f"trips {text}").tree
    assert tree_text.wanted_text(asked) == "trips"
    alone = grammar.parse(text).tree
    assert (tree_text.wanted_text(alone), tree_text.wants(alone)) == ("", True)
    assert not tree_text.wants(grammar.parse(f"-{text}").tree)


def _depth(node: Node) -> int:
    match node:
        case Not(part):
            return 1 + _depth(part)
        case And(parts) | Or(parts):
            return 1 + max(_depth(part) for part in parts)
        case _:
            return 1


def _leaves(node: Node | None) -> list[Words | Phrase | Pattern | Field]:
    match node:
        case None:
            return []
        case Not(part):
            return _leaves(part)
        case And(parts) | Or(parts):
            return [leaf for part in parts for leaf in _leaves(part)]
        case _:
            return [node]


def _bare(node: Node | None) -> Any:
    """Return a tree without places, and fields by what they mean."""
    match node:
        case None:
            return None
        case Field(filters):
            return filters
        case Not(part):
            return ("not", _bare(part))
        case And(parts, is_written):
            return ("and", is_written, [_bare(part) for part in parts])
        case Or(parts):
            return ("or", [_bare(part) for part in parts])
        case _:
            return replace(node, start=0)
