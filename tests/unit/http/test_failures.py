"""What the answers of a source mean, and what is shown of its addresses."""

import ssl
from datetime import UTC, datetime

import httpcore2
import httpx2
import pytest

from shared.errors import IngestionError, SourceUnreachableError
from shared.http import failures
from tests.support.linear_cost import assert_linear

NOW = datetime(2024, 6, 10, 12, 0, 0, tzinfo=UTC)
URL = httpx2.URL("https://log.example.org/list?limit=5")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_a_status_of_the_moment_is_asked_again(status):
    error = failures.of_status(status, {"retry-after": "7"}, URL, NOW)
    assert isinstance(error, SourceUnreachableError)
    assert error.retriable
    assert error.retry_after_seconds == 7


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "not_authorised"),
        (403, "not_authorised"),
        (400, "refused"),
        (404, "refused"),
        (410, "refused"),
        (304, "refused"),
        (204, "refused"),
    ],
)
def test_a_status_that_will_not_change_is_told_at_once(status, reason):
    error = failures.of_status(status, {}, URL, NOW)
    assert type(error) is IngestionError
    assert not error.retriable
    assert error.reason == reason


@pytest.mark.parametrize(
    ("status", "has_login", "told"),
    [
        (401, False, "wants a login (401 at https://log.example.org/list?limit=5)"),
        (401, True, "refuses our login (401 at"),
        (403, True, "does not let us read (403 at"),
        (404, True, "has nothing at https://log.example.org/list?limit=5 (404)"),
    ],
)
def test_what_to_mend_is_told_in_the_message(status, has_login, told):
    error = failures.of_status(status, {}, URL, NOW, has_login=has_login)
    assert told in error.message


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (10, "has expired"),
        (18, "`ca_file`"),
        (20, "`ca_file`"),
        (62, "is for another name"),
        (64, "is for another name"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_told(number, told):
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_code = number
    error = failures.of_encryption("log.example.org", cause)
    assert (error.reason, error.retriable) == ("tls", False)
    assert told in error.message


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2),
        (" 120 ", 120),
        ("0", 0),
        ("99999999999999999999", 3600),
        ("Mon, 10 Jun 2024 12:00:30 GMT", 30),
        ("Mon, 10 Jun 2024 14:00:30 +0200", 30),
        ("Mon, 10 Jun 2024 11:00:00 GMT", 0),
        ("Mon, 10 Jun 2030 11:00:00 GMT", 3600),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("\u0661", None),
        ("", None),
        (None, None),
    ],
)
def test_the_wait_that_a_source_asks_for_is_read_and_bounded(text, seconds):
    assert failures.retry_after(text, NOW) == seconds


@pytest.mark.parametrize(
    "address",
    [
        *("https://x/login", "https://x/Login.php?next=/elog", "https://x/user_login"),
        *("https://x/weblogin/", "https://x/sign-in", "https://sso.example.org/"),
        *("https://x/saml2/idp", "https://x/oauth2/authorize?client_id=1"),
        *("https://x/cas/", "https://x/demo/?fail=1"),
    ],
)
def test_a_login_is_known_by_its_address(address):
    assert failures.looks_like_login(httpx2.URL(address))


@pytest.mark.parametrize(
    "address",
    [
        "https://x/logging/1",
        "https://x/blogindex",
        "https://x/elog/cascade?fail=10",
        "https://x/design-info",
        "https://x/logs/in",
        "https://x/loginsights",
    ],
)
def test_what_only_resembles_a_login_is_none(address):
    assert not failures.looks_like_login(httpx2.URL(address))


def test_addresses_are_shown_without_what_may_be_secret():
    url = httpx2.URL(
        "https://x/a?limit=5&token=abc&API_KEY=def&q="
        "6f0c1b0e7f1d4b0a9d0e2f6a51c0aa11&since=2024-01-31+10:00:00"
    )
    shown = failures.mask_url(url)
    assert "limit=5" in shown
    assert "since=2024-01-31 10:00:00" in shown
    assert "token=***" in shown
    for secret in ("abc", "def", "6f0c1b0e"):
        assert secret not in shown


def test_a_header_that_cannot_be_sent_is_not_repeated():
    with (
        pytest.raises(IngestionError) as caught,
        failures.translate_network_errors(URL),
    ):
        raise httpcore2.LocalProtocolError("Illegal header value b's3cret\\n'")
    assert "s3cret" not in f"{caught.value.message}{caught.value.technical}"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (httpcore2.ConnectError("refused"), "no_connection"),
        (httpcore2.ConnectTimeout("late"), "no_connection"),
        (httpcore2.ReadTimeout("late"), "timeout"),
        (httpcore2.RemoteProtocolError("peer closed"), "half_body"),
        (
            httpcore2.RemoteProtocolError(
                "Server disconnected without sending a response."
            ),
            "empty_reply",
        ),
        (httpcore2.ReadError("reset"), "half_body"),
        (httpcore2.WriteError("reset"), "no_connection"),
        (httpcore2.ProxyError("502"), "proxy"),
    ],
)
def test_what_goes_wrong_on_the_way_is_asked_again(error, reason):
    with (
        pytest.raises(SourceUnreachableError) as caught,
        failures.translate_network_errors(URL),
    ):
        raise error
    assert caught.value.reason == reason


def test_patterns_read_long_nonsense_in_no_time():
    def read(nonsense: str) -> None:
        urls = [f"https://x/{nonsense}", f"https://x/?{nonsense}={nonsense}"]
        for url in (httpx2.URL(text[:60_000]) for text in urls):
            failures.looks_like_login(url)
            failures.mask_url(url)
        failures.retry_after(nonsense, NOW)

    assert_linear(read, "a" * 50_000 + "!")
