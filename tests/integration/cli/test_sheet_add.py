"""`logchord source add`: a sheet becomes a source once its columns are mapped."""

import re

import yaml

SHEET = """BscStartDate,Asset,OriginalShorttext,PMType,Cost,Empty
2004-07-01,A,BUCKET WON'T OPEN,PM01,183.05,
2005-03-20,A,L/H BUCKET CYL LEAKING.,PM01,407.4,
"""


def test_a_sheet_is_added_once_it_is_said_which_column_is_which(run, tmp_path):
    sheet = tmp_path / "orders.csv"
    sheet.write_text(SHEET, "utf-8")

    refused = run(str(sheet))
    # Named as it lies in the folder of whoever types, which is no process's own.
    done = run(
        *(sheet.name, "--name", "shovels", "--timezone", "Australia/Perth"),
        *("--map", "text=OriginalShorttext", "--map", "entry_time=BscStartDate"),
        *("--map", "title=Asset", "--map", "title=PMType", "--map", "logbook=Asset"),
        *("--map", "tags=Empty", "--map", "metadata.cost=Cost"),
    )

    assert refused.returncode == 2
    assert "BscStartDate, Asset, OriginalShorttext, PMType, Cost" in refused.stderr
    assert "--map text=PLACE" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert "2005-03-20 00:00 AWST" in done.stderr
    assert "A PM01" in done.stderr
    # A column that is there, and empty in what was read, is no mistake.
    lacking = re.findall(r"none has '(.+)': look at '(.+)' in", done.stderr)
    assert lacking == [("tags", "Empty")]
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["shovels"] == {
        "adapter": "generic_csv",
        "path": str(sheet),
        "args": {
            "map": {
                "text": "OriginalShorttext",
                "entry_time": "BscStartDate",
                "title": ["Asset", "PMType"],
                "logbook": "Asset",
                "tags": "Empty",
                "metadata.cost": "Cost",
            }
        },
        "timezone": "Australia/Perth",
    }


def test_a_place_that_no_record_has_is_not_added_unless_one_insists(run, tmp_path):
    sheet = tmp_path / "orders.csv"
    sheet.write_text(SHEET, "utf-8")
    named = (
        *(str(sheet), "--name", "shovels", "--timezone", "Australia/Perth"),
        *("--map", "text=OriginalShorttext", "--map", "entry_time=BscStartDate"),
        *("--map", "title=ASSETS", "--map", "title=PMType", "--map", "author=Who"),
        *("--set", 'args.id_columns=["Costs"]'),
    )

    refused = run(*named)
    nothing = (tmp_path / "logchord.yaml").exists()
    forced = run(*named, "--force")

    assert (refused.returncode, nothing) == (1, False)
    told = " ".join(refused.stderr.split())
    assert (
        "None of the first 2 records has 'ASSETS', where `args.map.title` looks."
        " Did you mean Asset?"
    ) in told
    assert "has 'Who', where `args.map.author` looks." in told
    assert "`args.id_columns` looks. Did you mean Cost?" in told
    assert "'PMType'" not in told
    assert "It was not added: no record has 'Costs' or 'Who' or 'ASSETS'." in told
    assert "--force" in told
    assert forced.returncode == 0, forced.stderr
    assert "It was added although no record has" in forced.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["shovels"]["args"]["map"]["author"] == "Who"


def test_dates_that_read_in_two_ways_are_not_guessed(run, tmp_path):
    sheet = tmp_path / "orders.csv"
    mapped = ("--map", "text=Short text", "--map", "entry_time=Opened")
    named = (str(sheet), "--timezone", "Australia/Perth", *mapped)

    def write(*days: str) -> None:
        rows = (f"{day} 04:12,Boom hose leaking" for day in days)
        sheet.write_text("\n".join(("Opened,Short text", *rows, "")), "utf-8")

    write("12/09/2026", "11/09/2026")
    refused = run(*named, "--name", "orders")
    assert refused.returncode == 1
    told = " ".join(refused.stderr.split())
    assert "'12/09/2026 04:12' may be 2026-12-09 or 2026-09-12" in told
    assert "no date that was read tells which" in told
    assert "--time-format '%d/%m/%Y %H:%M' where the day comes first" in told
    assert not (tmp_path / "logchord.yaml").exists()
    first = run(*named, "--name", "first", "--time-format", "%d/%m/%Y %H:%M")
    assert first.returncode == 0, first.stderr
    assert "2026-09-12 04:12 AWST" in first.stderr
    last = run(*named, "--name", "last", "--set", "args.day_first=false")
    assert last.returncode == 0, last.stderr
    assert "2026-12-09 04:12 AWST" in last.stderr
    forced = run(*named, "--name", "forced", "--force")
    assert forced.returncode == 0, forced.stderr
    assert "although its dates may have the day or the month first" in forced.stderr

    # One date may tell it of all, also behind those that are shown.
    write(*["12/09/2026"] * 60, "09/13/2026")
    assert run(*named, "--name", "told").returncode == 0
    write(*["12/09/2026"] * 60, "13/09/2026")
    contrary = run(*named, "--name", "contrary")
    assert contrary.returncode == 1
    assert "while '13/09/2026 04:12' has the day first" in " ".join(
        contrary.stderr.split()
    )


def test_times_that_are_not_read_by_themselves_are_spelt_out(run, tmp_path):
    sheet = tmp_path / "orders.csv"
    sheet.write_text("Opened,Short text\n13/09/2023,Boom hose leaking\n", "utf-8")
    mapped = ("--map", "text=Short text", "--map", "entry_time=Opened")
    named = (str(sheet), "--name", "orders", "--timezone", "Australia/Perth", *mapped)

    refused = run(*named)
    done = run(*named, "--time-format", "%d/%m/%Y")

    assert refused.returncode == 1
    assert "'13/09/2023' is not a time" in refused.stderr
    assert "--time-format '%d/%m/%Y'" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert "2023-09-13 00:00 AWST" in done.stderr


def test_a_map_by_which_nothing_can_be_read_is_not_written_down(run, tmp_path):
    sheet = tmp_path / "orders.csv"
    sheet.write_text(SHEET, "utf-8")

    wrong = run(
        *(str(sheet), "--timezone", "Australia/Perth"),
        *("--map", "text=OriginalShorttext", "--map", "entry_time=Written"),
    )
    unnamed = run(str(sheet), "--timezone", "UTC", "--map", "OriginalShorttext")
    several = run(str(sheet), "--map", "text=OriginalShorttext,entry_time=Written")

    assert wrong.returncode == 1
    assert "2 could not be read" in wrong.stderr
    assert "The record tells no time of writing." in wrong.stderr
    assert "Look at what --map names" in wrong.stderr
    assert "has 'Written', where `args.map.entry_time` looks." in wrong.stderr
    assert (unnamed.returncode, several.returncode) == (2, 2)
    assert "each --map takes one" in several.stderr
    assert not (tmp_path / "logchord.yaml").exists()


def test_a_sheet_of_which_most_cannot_be_read_is_added_only_if_one_insists(
    run, tmp_path
):
    sheet = tmp_path / "orders.csv"
    # Day first: what can be read month first is read wrongly.
    days = (f"{day}/09/2023,Boom hose leaking on day {day}" for day in (12, 13, 14))
    sheet.write_text("\n".join(("Opened,Short text", *days, "")), "utf-8")
    mapped = ("--map", "text=Short text", "--map", "entry_time=Opened")
    named = (str(sheet), "--name", "orders", "--timezone", "Australia/Perth", *mapped)

    refused = run(*named)
    nothing = (tmp_path / "logchord.yaml").exists()
    forced = run(*named, "--force")

    assert (refused.returncode, nothing) == (1, False)
    assert "most of its entries could not be read" in refused.stderr
    assert "--time-format '%d/%m/%Y'" in refused.stderr
    assert forced.returncode == 0
    assert "--time-format '%d/%m/%Y'" in forced.stderr
