"""Under which names the files of strangers are saved."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.cli.entry_input.save_attachments import safe_name


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("trip.png", "trip.png"),
        ("Größe 2.pdf", "Größe 2.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "file"),
        ("", "file"),
        (".profile", "profile"),
        ("a\x1b[2Jb\nc.txt", "a_[2Jb_c.txt"),
        ("C:\\autoexec.bat", "C__autoexec.bat"),
    ],
)
def test_a_name_stays_in_its_folder(given_name: str, name: str) -> None:
    assert safe_name(given_name) == name


@given(st.text(max_size=400))
def test_any_name_can_be_a_file_s(given_name: str) -> None:
    name = safe_name(given_name)
    assert Path(name).name == name
    assert 0 < len(name.encode(errors="replace")) <= 255
    assert name.isprintable()


def test_a_long_name_keeps_its_kind() -> None:
    assert safe_name("trip " * 100 + ".png").endswith(".png")
