"""Files of entries: their kind by their beginning, each row by its place."""

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


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ('"pipe 5" wide",d', "This is no CSV: ',' expected after '\"'."),
        ('"never closed,d', "This is no CSV: unexpected end of data."),
        ("x" * 1_000_001 + ",d", "This is no CSV: field larger than field limit"),
    ],
)
def test_a_row_of_csv_whose_end_is_unknown_is_named_and_ends_the_file(broken, told):
    found = read(f'\ntext,title\na,"b\nc"\n\n{broken}\n\ne,f\n')

    assert [row.place for row in found] == ["line 3", "line 6"]
    assert found[0].entry == {"text": "a", "title": "b\nc"}
    assert found[1].entry is None
    problem = found[1].problem or ""
    assert problem.startswith(told)
    assert problem.endswith("Nothing behind it was read.")


def test_blank_lines_before_the_first_count():
    assert read('\n\n{"text": "a"}\nnot json\n')[1].place == "line 4"


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "[1,", "{\n", '"text"x,title\n1,2\n', '"text\n']
)
def test_a_file_that_is_none_of_the_three_is_refused(text: str):
    with pytest.raises(CommandError):
        read(text)
