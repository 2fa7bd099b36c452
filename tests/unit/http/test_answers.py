"""What an answer says of itself, and its body as text and as JSON."""

import sys
from datetime import UTC, datetime

import pytest

from shared.errors import IngestionError
from shared.http.bounded_response import HTTPReply, join_headers
from tests.support.commands import run_command


def reply(body: bytes, content_type: str | None = None) -> HTTPReply:
    headers = {"content-type": content_type} if content_type else {}
    return HTTPReply(200, "http://x/", headers, body, datetime.now(UTC))


@pytest.mark.parametrize(
    ("content_type", "media_type", "charset"),
    [
        ("Application/JSON; charset=UTF-8", "application/json", "UTF-8"),
        ('text/html;level=1; Charset="iso-8859-1"', "text/html", "iso-8859-1"),
        ("text/plain", "text/plain", None),
        ("text/plain; xcharset=bad", "text/plain", None),
        (None, "", None),
    ],
)
def test_media_type_and_charset_are_read(content_type, media_type, charset):
    answer = reply(b"", content_type)
    assert (answer.media_type, answer.charset) == (media_type, charset)


def test_text_is_decoded_by_what_it_is_rather_than_by_its_label():
    body = "Spülung".encode()
    assert reply(body, "text/plain; charset=ISO-8859-1").text() == "Spülung"


def test_headers_of_one_name_are_joined():
    raw = [(b"ETag", b'"a"'), (b"X-A", b"1"), (b"x-a", b"\xe9")]
    assert join_headers(raw) == {"etag": '"a"', "x-a": "1, \xe9"}


def test_json_keeps_what_only_python_calls_a_number():
    long = "9" * 5000
    found = reply(f'{{"a": NaN, "b": {long}, "c": 12, "d": -Infinity}}'.encode()).json()
    assert found == {"a": "NaN", "b": long, "c": 12, "d": "-Infinity"}


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b'{"a":', b"[" * 200_000, b'{"a":1} x', b"\xff\xfe"],
    ids=["nothing", "page", "cut", "deep", "more", "mark"],
)
def test_what_is_no_json_is_a_wrong_shape(body):
    with pytest.raises(IngestionError) as caught:
        reply(body).json()
    assert caught.value.reason == "unexpected_shape"
    assert len(caught.value.technical or "") < 500


_READS_IN_LITTLE_MEMORY = """
import resource, sys
import subprocess
import sys
from datetime import UTC, datetime
from shared.errors import IngestionError
from shared.http.bounded_response import HTTPReply

body = b"[" + b'{"n": 1},' * 2_000_000 + b"0]"
reply = HTTPReply(200, "http://log.test/", {}, body, datetime.now(UTC))
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (1024 * used + int(sys.argv[1]), -1))
try:
    reply.json()
except IngestionError as exc:
    resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))
    print(exc.reason)
"""


@pytest.mark.parametrize("spare", [1_000_000, 60_000_000], ids=["text", "objects"])
def test_an_answer_that_a_worker_cannot_hold_is_told_as_too_large(spare: int) -> None:
    command = [sys.executable, "-c", _READS_IN_LITTLE_MEMORY, str(spare)]
    ended = run_command(command)
    assert ended.stdout == "too_large\n", ended.stderr
