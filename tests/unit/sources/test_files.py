"""Files of a source: those below its path, unpacked, and none beside it."""

import gzip
import os
import threading

import pytest

from shared.errors import IngestionError, SourceUnreachableError
from shared.sources.local_files import PathFiles


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "logs"
    for name in ("2024/240514a.log", "2024/240515a.log", "2023/b.txt", "top.jsonl"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (root / ".hidden").write_text("x", encoding="utf-8")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    return root


def of(path) -> PathFiles:
    return PathFiles("ring", str(path))


@pytest.mark.parametrize(
    ("below", "pattern", "names"),
    [
        ("", None, ["2023/b.txt", "2024/240514a.log", "2024/240515a.log", "top.jsonl"]),
        ("", "**/??????a.log", ["2024/240514a.log", "2024/240515a.log"]),
        ("", "*.jsonl", ["top.jsonl"]),
        ("", "*", ["top.jsonl"]),
        ("", "2023/*", ["2023/b.txt"]),
        ("/2024/*.log", None, ["240514a.log", "240515a.log"]),
        ("/*/*.log", None, ["2024/240514a.log", "2024/240515a.log"]),
        ("/**/*.log", "**/*14a.log", ["2024/240514a.log"]),
        ("/top.jsonl", None, ["top.jsonl"]),
        ("/.hidden", None, [".hidden"]),
        ("/*.none", None, []),
    ],
)
def test_a_file_a_folder_or_a_pattern_names_files(folder, below, pattern, names):
    assert of(f"{folder}{below}").names(pattern) == names


def test_a_file_is_read_by_its_name(folder):
    files = of(folder)
    with files.open("2024/240514a.log") as file:
        assert file.readable()
        assert file.read() == b"2024/240514a.log"
    found = files.stat("2024/240514a.log")
    assert found.size == 16
    (folder / "2024/240514a.log").write_text("new", encoding="utf-8")
    assert files.stat("2024/240514a.log") != found


def test_a_packed_file_is_unpacked_by_what_it_is_not_by_its_name(folder):
    lines = b"".join(b"%d line\n" % one for one in range(100_000))
    (folder / "packed.log").write_bytes(gzip.compress(lines))
    (folder / "plain.gz").write_bytes(b"plain")
    with of(folder).open("packed.log") as file:
        assert file.readline() == b"0 line\n"
        assert b"".join(file) == lines[7:]
    with of(folder).open("plain.gz") as file:
        assert file.read() == b"plain"


def test_a_packed_bomb_is_refused_while_it_is_read(folder):
    (folder / "bomb.gz").write_bytes(gzip.compress(b"\0" * 20_000_000))
    with of(folder).open("bomb.gz") as file, pytest.raises(IngestionError) as caught:
        file.read()
    assert caught.value.reason == "unpack_ratio"


def test_a_packed_file_that_is_still_being_written_is_read_again_later(folder):
    (folder / "cut.gz").write_bytes(gzip.compress(os.urandom(50_000))[:-100])
    with (
        of(folder).open("cut.gz") as file,
        pytest.raises(SourceUnreachableError) as caught,
    ):
        file.read()
    assert caught.value.reason == "half_body"


@pytest.mark.parametrize("name", ["../secret", "2024/../../secret", "/etc/passwd"])
def test_a_name_that_leads_out_of_the_folder_is_refused(folder, name):
    with pytest.raises(IngestionError) as caught, of(folder).open(name):
        pass
    assert caught.value.reason == "outside_path"
    with pytest.raises(IngestionError):
        of(folder).stat(name)


def test_a_link_is_followed_within_the_folder_only(folder):
    (folder / "in.log").symlink_to(folder / "top.jsonl")
    (folder / "out.log").symlink_to(folder.parent / "secret")
    (folder / "away").symlink_to(folder.parent)
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "dangling").symlink_to(folder / "nothing")
    names = of(folder).names("*")
    assert names == ["in.log", "top.jsonl"]
    with pytest.raises(SourceUnreachableError), of(folder).open("loop"):
        pass
    for name in ("out.log", "away/secret"):
        with pytest.raises(IngestionError) as caught, of(folder).open(name):
            pass
        assert caught.value.reason == "outside_path"


def test_the_folder_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    with of(tmp_path / "link").open("top.jsonl") as file:
        assert file.read() == b"top.jsonl"


def test_a_file_that_the_settings_name_may_be_a_link(folder, tmp_path):
    (tmp_path / "current").symlink_to(folder / "2024/240514a.log")
    files = of(tmp_path / "current")
    assert files.names() == ["240514a.log"]
    with files.open("240514a.log") as file:
        assert file.read() == b"2024/240514a.log"


def test_a_pipe_is_no_file_and_holds_nobody_up(folder):
    os.mkfifo(folder / "pipe")
    assert "pipe" not in of(folder).names()
    done = threading.Event()

    def read() -> None:
        with pytest.raises(IngestionError), of(folder).open("pipe"):
            pass
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert done.wait(5)


@pytest.mark.parametrize("below", ["/none", "/none/*.log", "/2024/none.log"])
def test_a_path_that_is_not_there_is_an_outage_and_not_an_empty_source(folder, below):
    with pytest.raises(SourceUnreachableError) as caught:
        of(f"{folder}{below}").names()
    assert caught.value.reason == "no_file"


def test_a_file_that_has_gone_is_an_outage(folder):
    with pytest.raises(SourceUnreachableError), of(folder).open("none"):
        pass
    with pytest.raises(SourceUnreachableError), of(folder).open("a\0b"):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read_are_told_from_none(folder):
    (folder / "top.jsonl").chmod(0)
    with pytest.raises(IngestionError) as caught, of(folder).open("top.jsonl"):
        pass
    assert caught.value.reason == "not_authorised"


def test_a_source_without_a_path_has_no_files():
    with pytest.raises(IngestionError) as caught:
        PathFiles("ring", None).names()
    assert caught.value.reason == "no_path"
