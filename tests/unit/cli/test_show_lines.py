"""What `logchord show` prints of an entry."""

from typing import Any
from zoneinfo import ZoneInfo

from api.cli.commands import show


def shown_entry(**fields: Any) -> str:
    entry: dict[str, Any] = {
        "source": "ring",
        "external_id": "RF/7",
        "title": "Trip",
        "text": "[b]Cavity 3[/b] tripped at [color=red]06:05[/color]",
        "text_format": "elcode",
        "entry_time": "2024-06-10T12:00:00+00:00",
        "revision": 1,
        "reply_to": None,
        "url": None,
        "permalink": "/e/1",
        "level": None,
        "shift": None,
        **{key: [] for key in ("logbooks", "authors", "tags", "attachments")},
        **{key: [] for key in ("links", "entities")},
        "findings": {},
        "metadata": {},
    }
    return show._whole({**entry, **fields}, ZoneInfo("UTC"))


def test_a_text_is_shown_without_its_markup_and_with_its_attributes():
    shown = shown_entry(
        findings={
            "alarms": [
                {"number": 4711, "meaning": "arc \x1b[31m", "start": 0, "end": 10},
                {"number": 12, "meaning": None, "start": 23, "end": 31},
                {"number": 12, "meaning": None, "start": 43, "end": 51},
            ],
        },
        metadata={"Severity": "Alarm", "Device": {"name": "K3"}},
    )
    assert "Cavity 3 tripped at 06:05" in shown
    assert "[b]" not in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["Severity", "Alarm"] in lines
    told = ["alarms", "number", "4711,", "meaning", "arc", "[31m;", "number", "12"]
    assert told in lines
    assert any(line[:1] == ["Device"] and '"K3"' in line[-1] for line in lines)


def test_of_a_file_that_is_not_here_it_is_said_why():
    def file(name: str, state: str, size: int | None, error: str | None = None):
        return {
            "filename": name,
            "state": state,
            "bytes": size,
            "error": {"message": error} if error else None,
        }

    shown = shown_entry(
        attachments=[
            file("trace.png", "stored", 812),
            file("far.pdf", "linked", None, "http://far.example is not an address."),
            file("big.iso", "linked", 5_000, "It is larger than 4000 bytes."),
            file("late.txt", "due", None, "Nobody answers."),
            file("soon.txt", "due", None),
            file("elsewhere.txt", "linked", None),
        ]
    )
    told = " ".join(shown.split())
    assert "None" not in told
    for one in (
        "trace.png (812 bytes)",
        "far.pdf (http://far.example is not an address)",
        "big.iso (5000 bytes; It is larger than 4000 bytes)",
        "late.txt (Nobody answers. It is tried again)",
        "soon.txt (being fetched)",
        "elsewhere.txt (not fetched: it lies at its source alone)",
    ):
        assert one in told
