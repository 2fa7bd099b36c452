"""Files of entries: their kind by their beginning, each row by its place."""

from __future__ import annotations

import io

import pytest

from api.cli.entry_input.entry_file import FileEntry, rows
from api.cli.output import CommandError


def read(text: str, name: str = "-") -> list[FileEntry]:
    return list(rows(io.StringIO(text), name))


def test_lines_of_json_are_read_one_by_one_and_bad_ones_keep_their_place():
    found = read('{"text": "a"}\n\nnot json\n[1]\n{"text": "b", "n": NaN}\n')

    assert [row.place for row in found] == ["line 1", "line 3", "line 4", "line 5"]
    assert found[0].entry == {"text": "a"}
    assert [row.entry for row in found[1:]] == [None, None, None]
    assert found[2].problem == "This is no JSON object."


def test_an_empty_file_has_no_entries():
    assert read("") == read("  \n \n") == []


def test_a_csv_row_with_too_many_or_too_few_cells_is_named():
    found = read("text,title\na,b\na,b,c\na\n")

    assert [row.problem is None for row in found] == [True, False, False]
    assert found[1].place == "line 3"


def test_a_tab_separated_file_is_told_by_its_name():
    assert read("text\ttitle\na,b\tc\n", "x.tsv")[0].entry == {
        "text": "a,b",
        "title": "c",
    }


def test_an_empty_cell_is_left_out_and_an_empty_text_stays():
    assert read("external_id,text,level\n1,,\n")[0].entry == {
        "external_id": "1",
        "text": "",
    }


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "[1,", "{\n"])
def test_a_file_that_is_none_of_the_three_is_refused(text: str):
    with pytest.raises(CommandError):
        read(text)
