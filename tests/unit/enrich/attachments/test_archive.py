"""Archives are believed nothing: neither sizes, nor names, nor places (B12, B13)."""

import io
import stat

import pytest

from shared.enrich.attachments.archive import RATIO_FROM_BYTES, Archive, ArchiveLimits
from shared.errors import InvalidRequestError
from tests.support import attached

LIMITS = ArchiveLimits(max_unpacked_bytes=104_857_600, max_members=1000, max_ratio=100)


def refused(data: bytes, limits: ArchiveLimits = LIMITS) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        Archive(io.BytesIO(data), limits).check()
    assert (caught.value.error_code, caught.value.status) == ("unsafe_archive", 422)
    return str(caught.value.details["reason"])


def test_an_honest_archive_is_read_member_by_member():
    data = attached.zipped({"a/b.txt": "beam " * 100, "c.bin": bytes(range(256))})

    archive = Archive(io.BytesIO(data), LIMITS)
    archive.check()

    assert archive.names == ["a/b.txt", "c.bin"]
    text, raw = (b"".join(archive.pieces(one)) for one in archive.members)
    assert (text, raw) == (b"beam " * 100, bytes(range(256)))


@pytest.mark.parametrize("method", [0, 8, 12])
@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 500_000])
def test_every_byte_of_a_member_is_counted_and_none_is_lost(method, size):
    content = (b"0123456789abcdef" * 40_000)[:size]
    archive = Archive(io.BytesIO(attached.zipped({"a": content}, method)), LIMITS)

    archive.check()

    assert b"".join(archive.pieces(archive.members[0])) == content


@pytest.mark.requirement("B12")
def test_members_are_counted_at_the_limit_and_one_beyond():
    members = {str(number): b"" for number in range(4)}
    Archive(io.BytesIO(attached.zipped(members)), ArchiveLimits(1000, 4, 100)).check()

    assert (
        refused(attached.zipped(members), ArchiveLimits(1000, 3, 100))
        == "too_many_members"
    )


@pytest.mark.requirement("B12")
def test_unpacked_bytes_are_counted_at_the_limit_and_one_beyond():
    data = attached.zipped({"a": b"x" * 600, "b": b"y" * 400}, method=0)
    Archive(io.BytesIO(data), ArchiveLimits(1000, 9, 100)).check()

    assert refused(data, ArchiveLimits(999, 9, 100)) == "too_large"


@pytest.mark.requirement("B12")
def test_what_is_packed_too_tightly_is_refused_only_where_it_is_large():
    small = attached.zipped({"a": bytes(RATIO_FROM_BYTES)})
    large = attached.zipped({"a": bytes(RATIO_FROM_BYTES + 1)})
    Archive(io.BytesIO(small), LIMITS).check()

    assert refused(large) == "ratio"


@pytest.mark.requirement("B12")
def test_members_that_share_their_bytes_are_refused():
    assert refused(attached.overlapping()) == "overlap"


@pytest.mark.requirement("B12")
@pytest.mark.parametrize("said", [0, 999, 1001, 0xFFFFFFFE])
def test_a_member_that_lies_about_its_size_is_refused(said):
    stored = attached.one_member(b"a", b"x" * 1000, said)

    assert refused(stored) == "false_size"


@pytest.mark.requirement("B12")
def test_a_member_whose_stream_goes_on_beyond_its_size_is_refused():
    packed = attached.zipped({"a": b"x" * 5000})
    at = packed.index(b"PK\1\2") + 24
    lying = packed[:at] + (100).to_bytes(4, "little") + packed[at + 4 :]

    assert refused(lying) == "false_size"


@pytest.mark.requirement("B12")
def test_an_archive_in_an_archive_is_refused_but_a_document_is_not():
    inner = attached.zipped({"a": "b"})
    Archive(io.BytesIO(attached.zipped({"r.docx": attached.docx()})), LIMITS).check()

    for _ in range(8):
        inner = attached.zipped({"inner.zip": inner})
    assert refused(inner) == "nested"


@pytest.mark.requirement("B13")
@pytest.mark.parametrize(
    "name",
    [
        *("../../etc/x", "a/../../x", "/etc/passwd", "C:\\x", "c:x", "..\\..\\x"),
        *("\\\\host\\share", "a\0b.txt", "n" * 5000, "a/..", ""),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name):
    assert refused(attached.one_member(name.encode(), b"x", 1)) == "path"


@pytest.mark.requirement("B13")
@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK]
)
def test_what_is_no_file_is_refused(kind):
    data = attached.one_member(b"a", b"/etc/passwd", 11, mode=kind | 0o777)

    assert refused(data) == "not_a_file"


@pytest.mark.parametrize("name", ["a..b/c", "logs\\today.txt", "Öl (2).txt", "a//b"])
def test_an_odd_name_is_not_refused(name):
    data = attached.one_member(name.encode(), b"x", 1)
    Archive(io.BytesIO(data), LIMITS).check()


def test_a_member_that_cannot_be_unpacked_is_counted_as_it_says():
    locked = attached.one_member(b"a", b"x" * 10, 50, flags=0x801)
    archive = Archive(io.BytesIO(locked), ArchiveLimits(50, 9, 100))
    archive.check()

    assert list(archive.pieces(archive.members[0])) == []
    assert refused(locked, ArchiveLimits(49, 9, 100)) == "too_large"


def test_a_stream_that_is_broken_is_refused():
    data = attached.one_member(b"a", b"\xff" * 100, 500, method=8)

    assert refused(data) == "broken"
