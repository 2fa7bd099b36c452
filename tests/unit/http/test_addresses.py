"""Which addresses a source may be asked at, and what their names may stand for."""

import threading

import pytest

from shared.errors import ConfigurationError, IngestionError, SourceUnreachableError
from shared.http.addresses import AllowList, parse

ODD = [
    *("http://0/", "http://2130706433/", "http://0x7f.1/", "http://0x7f000001/"),
    *("http://127.1/", "http://017700000001/", "http://127.0.0.01/"),
    *("http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:0:0:1]/"),
    *("http://[fe80::1%25eth0]/", "http://127\u30020\u30020\u30021/"),
    *("http://127\uff0e0\uff0e0\uff0e1/", "http://\uff11\uff12\uff17.0.0.1/"),
    *("http://ok@127.0.0.1/", "http://ok:x@127.0.0.1/", "http://@127.0.0.1/"),
    *("http://log.example.org\\@127.0.0.1/", "http://log.example.org%2f@127.0.0.1/"),
    *("http://127.0.0.1%00.example.org/", "http://log.example.org:0/"),
    *("http://log.example.org:99999/", "http://log.example.org:8x/", "http://-x/"),
    *("http:///etc/passwd", "http:log.example.org", "//log.example.org/", "/relative"),
    *("", "file:///etc/passwd", "gopher://log.example.org/"),
    *("redis://log.example.org/", "ftp://log.example.org/", "javascript:alert(1)"),
    *("http://log.example.org\r\nHost: x/", "http://\ud800/"),
]


def listed(base_url="http://log.example.org/elog", *others, **rules) -> AllowList:
    return AllowList("ring", base_url, others, **rules)


def stands_for(*answers: str):
    return lambda _host, _port: list(answers)


@pytest.mark.parametrize("text", ODD)
def test_what_two_programs_may_read_in_two_ways_is_not_asked(text):
    with pytest.raises(ValueError, match=r"^it"):
        parse(text)
    with pytest.raises(IngestionError) as caught:
        listed("http://127.0.0.1").admit(text)
    assert caught.value.reason == "address_refused"


@pytest.mark.parametrize(
    "text",
    [
        "http://log.example.org/",
        "HTTP://LOG.example.org:80/a b?x=\u00fc#part",
        "http://127.0.0.1:8080/",
        "https://[::1]:8443/x",
        "https://b\u00fccher.example/",
        "http://ring_1/",
    ],
)
def test_a_plainly_written_address_is_read(text):
    assert parse(text).scheme in {"http", "https"}


@pytest.mark.parametrize(
    "text",
    [
        "https://log.example.org/elog",
        "http://log.example.org:8080/elog",
        "http://log.example.org.evil.example/",
        "http://evil.example/log.example.org",
        "http://log.example.org./",
        "http://127.0.0.1/",
        "http://localhost/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_an_address_that_is_not_on_the_list_is_refused(text):
    with pytest.raises(IngestionError) as caught:
        listed().admit(text)
    assert caught.value.reason == "address_refused"
    assert caught.value.retriable is False


def test_other_origins_are_those_that_the_admin_has_named():
    allowed = listed("http://log.example.org", "https://files.example.org:8443")
    assert allowed.admit("https://FILES.example.org:8443/a.png").host
    assert not allowed.is_own(allowed.admit("https://files.example.org:8443/a.png"))
    assert allowed.is_own(allowed.admit("http://log.example.org:80/x"))
    with pytest.raises(IngestionError):
        allowed.admit("https://files.example.org/a.png")


def test_a_name_is_compared_in_the_form_that_is_looked_up():
    allowed = listed("https://B\u00dcCHER.example")
    assert allowed.admit("https://xn--bcher-kva.example/1").path == "/1"


def test_a_setting_that_cannot_be_used_is_named():
    with pytest.raises(ConfigurationError) as caught:
        listed("http://log.example.org", "http://0x7f.1")
    assert caught.value.config_key == "sources.ring.allowed_origins"


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0"),
        *("64:ff9b::a9fe:a9fe", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1"),
        *("100.100.100.200", "fd00:ec2::254"),
    ],
)
def test_a_name_never_stands_for_this_machine_nor_for_what_is_no_logbook(address):
    allowed = listed(lookup=stands_for("93.184.216.34", address))
    with pytest.raises(IngestionError) as caught:
        allowed.addresses("log.example.org", 80, seconds=1)
    assert caught.value.reason == "address_refused"


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "192.168.1.1", "fd12::1", "100.64.0.1"]
)
def test_a_private_address_needs_the_admins_leave(address):
    found = stands_for(address)
    assert listed(lookup=found).addresses("log.example.org", 80, seconds=1) == [address]
    closed = listed(lookup=found, allow_private=False)
    with pytest.raises(IngestionError):
        closed.addresses("log.example.org", 80, seconds=1)


@pytest.mark.parametrize(
    ("base_url", "host", "port", "address"),
    [
        ("http://127.0.0.1:8181", "127.0.0.1", 8181, "127.0.0.1"),
        ("http://[::1]:8181", "::1", 8181, "::1"),
        ("http://169.254.10.1", "169.254.10.1", 80, "169.254.10.1"),
        ("http://localhost:8181", "localhost", 8181, "127.0.0.1"),
    ],
)
def test_what_the_admin_wrote_literally_is_asked_wherever_it_lies(
    base_url, host, port, address
):
    allowed = listed(base_url, lookup=stands_for(address), allow_private=False)
    assert allowed.addresses(host, port, seconds=1) == [address]


def test_localhost_stands_for_this_machine_only():
    allowed = listed("http://localhost", lookup=stands_for("10.0.0.1"))
    with pytest.raises(IngestionError):
        allowed.addresses("localhost", 80, seconds=1)


@pytest.mark.requirement("SEC7")
def test_a_name_that_turns_private_after_it_was_judged_is_not_believed():
    answers = [["93.184.216.34"], ["127.0.0.1"]]
    allowed = listed(lookup=lambda _host, _port: answers.pop(0))
    first = allowed.addresses("log.example.org", 80, seconds=1)
    assert allowed.addresses("log.example.org", 80, seconds=1) == first
    assert answers == [["127.0.0.1"]]


def test_a_host_that_is_not_on_the_list_is_not_even_looked_up():
    asked = []

    def noted(host: str, _port: int) -> list[str]:
        asked.append(host)
        return []

    allowed = listed(lookup=noted)
    with pytest.raises(IngestionError):
        allowed.addresses("evil.example", 80, seconds=1)
    with pytest.raises(IngestionError):
        allowed.addresses("log.example.org", 81, seconds=1)
    assert asked == []


def test_with_a_proxy_only_the_proxy_is_connected_to():
    found = stands_for("10.0.0.9")
    allowed = listed(proxy="http://proxy.example:3128", lookup=found)
    assert allowed.addresses("proxy.example", 3128, seconds=1) == ["10.0.0.9"]
    with pytest.raises(IngestionError):
        allowed.addresses("log.example.org", 80, seconds=1)


def test_a_resolver_that_hangs_costs_its_time_and_no_more():
    released = threading.Event()
    allowed = listed(lookup=lambda _host, _port: released.wait(20) or [])
    with pytest.raises(SourceUnreachableError) as caught:
        allowed.addresses("log.example.org", 80, seconds=0.05)
    released.set()
    assert caught.value.reason == "name_unknown"


def test_a_name_that_nobody_knows_is_asked_for_again_later():
    def unknown(_host, _port):
        raise OSError("no such name")

    with pytest.raises(SourceUnreachableError):
        listed(lookup=unknown).addresses("log.example.org", 80, seconds=1)


def test_a_foreign_address_is_shown_short_and_without_what_may_be_secret():
    with pytest.raises(IngestionError) as caught:
        listed().admit("http://evil.example:1/" + "x" * 5000 + "?token=abc")
    assert "abc" not in caught.value.message
    with pytest.raises(IngestionError) as caught:
        listed().admit("gopher://x/?token=abc" + "y" * 5000)
    assert "abc" not in caught.value.message
    assert len(caught.value.message) < 300
