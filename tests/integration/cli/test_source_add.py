"""`logchord source add`: an address becomes a source in the configuration file."""

import base64
import json
import re
import ssl
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import yaml

from api.cli.source import config_file
from shared.errors import ConfigurationError, DatabaseConnectionError
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.olog import OlogStub
from tests.contract.stubs.serving import StubAnswer, StubRequest, StubServer
from tests.support.certificates import make_certificate
from workers.adapters.kit.stub import StubEntry


@pytest.fixture
def olog():
    with closing(OlogStub()) as stub:
        time = datetime.now(UTC) - timedelta(days=1)
        stub.add(StubEntry(7, time, "RF trip", "Cavity 2"))
        yield stub


def address(stub: OlogStub) -> str:
    return str(stub.settings()["base_url"])


def test_an_olog_is_recognised_checked_and_written_down(run, olog, tmp_path):
    done = run(address(olog), "--name", "ring")

    assert done.returncode == 0, done.stderr
    assert "This is Phoebus Olog" in done.stderr
    # Where it lies, whichever folder whoever reads this is in.
    assert done.stdout == f"added ring to {tmp_path}/logchord.yaml\n"
    assert "RF trip" in done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["ring"] == {"adapter": "olog", "base_url": address(olog)}
    # What a file without sources stood for is not lost by writing one.
    assert written["sources"]["api"] == {"adapter": "push"}


def test_comments_order_and_other_sources_stay_as_they_were(run, olog, tmp_path):
    before = (
        "# Ours.\nport: 8100  # not the usual one\n\nsources:\n"
        "    # What programs send.\n    hall-b:\n        adapter: push\n"
    )
    (tmp_path / "logchord.yaml").write_text(before, "utf-8")

    assert run(address(olog), "--name", "ring").returncode == 0

    after = (tmp_path / "logchord.yaml").read_text("utf-8")
    assert [line for line in after.splitlines() if line in before.splitlines()] == (
        before.splitlines()
    )
    assert set(yaml.safe_load(after)["sources"]) == {"hall-b", "ring"}


def test_a_list_of_sources_gets_one_item_more():
    before = "sources:\n- {name: a, adapter: push}\nport: 8100\n"
    after = config_file.with_source(before, "b", {"adapter": "olog"}, "")
    assert yaml.safe_load(after) == {
        "sources": [{"name": "a", "adapter": "push"}, {"name": "b", "adapter": "olog"}],
        "port": 8100,
    }


def test_a_source_comes_behind_the_others_and_before_what_follows():
    before = (
        "sources:\n  a:\n    adapter: push\n  # Kept.\n\n  # Of the port.\nport: 8100\n"
    )
    after = config_file.with_source(before, "b", {"adapter": "olog"}, "")
    assert list(yaml.safe_load(after)["sources"]) == ["a", "b"]
    assert after.endswith("  # Kept.\n\n  # Of the port.\nport: 8100\n")


def test_the_address_of_an_elog_server_brings_every_logbook_of_it(run, tmp_path):
    with closing(ElogServerStub(logbooks=("Operations", "RF"))) as stub:
        when = datetime.now(UTC) - timedelta(days=1)
        stub.add(StubEntry(1, when, "Trip", "text", logbook="RF"))
        # Its dates say their zone: none is asked for.
        done = run(stub.base_url, "--name", "ring")
        assert done.returncode == 0, done.stderr
        written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
        args = written["sources"]["ring"]["args"]
        assert args["logbooks"] == ["Operations", "RF"]

        stub.guard("RF")
        refused = run(stub.base_url, "--name", "guarded")
        assert refused.returncode == 1
        assert "asks for a login for RF" in refused.stderr
        assert "--logbook" in refused.stderr
        text = (tmp_path / "logchord.yaml").read_text("utf-8")
        assert "guarded" not in text
        done = run(stub.base_url, "--name", "open", "--logbook", "Operations")
        assert done.returncode == 0, done.stderr
        forced = run(stub.base_url, "--name", "guarded", "--force")
        assert forced.returncode == 0, forced.stderr
        # What is lacking is the last that is said.
        assert "It was added although a part of it wants a login." in forced.stderr
        assert forced.stderr.index("Nothing runs here") < forced.stderr.index(
            "It was added although"
        )
        sources = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
        assert list(sources["sources"]) == ["api", "ring", "open", "guarded"]


def test_a_stack_that_cannot_take_it_over_now_is_told_to_later(run, olog, tmp_path):
    body = DatabaseConnectionError().as_json().encode()
    busy = StubAnswer(b'{"error": %s}' % body, status=503)
    taken = StubAnswer(b'{"invalid": [], "added": ["ring", "hall"], "changed": []}')
    with closing(StubServer(lambda _: busy)) as stack:
        done = run(address(olog), "--name", "ring", LOGCHORD_URL=stack.base_url)
        assert done.returncode == 0
        assert f"It is in {tmp_path}/logchord.yaml, but" in done.stderr
        assert "`logchord source reload` does" in done.stderr

        # That it was taken over is known where only the check failed.
        stack.answer = lambda asked: taken if asked.path.endswith("reload") else busy
        done = run(address(olog), "--name", "hall", LOGCHORD_URL=stack.base_url)
        assert "It is taken over; `logchord source check` says" in done.stderr


def test_sources_on_one_line_are_not_guessed_at():
    with pytest.raises(ConfigurationError, match="on one line"):
        config_file.with_source("sources: {}\n", "b", {"adapter": "olog"}, "")


@pytest.fixture
def behind_a_login():
    """A search like Olog's, for whoever knows the password."""
    right = "Basic " + base64.b64encode(b"reader:open sesame").decode()

    def answer(request: StubRequest) -> StubAnswer:
        if request.headers.get("authorization") != right:
            return StubAnswer(b"", 401, "text/html")
        if request.path != "/Olog/logs/search":
            return StubAnswer(b"", 404, "text/html")
        return StubAnswer(json.dumps({"hitCount": 0, "logs": []}).encode())

    with closing(StubServer(answer)) as server:
        yield server


@pytest.fixture
def of_html():
    """A server of pages; what is asked for by adapters is not among them."""

    def answer(request: StubRequest) -> StubAnswer:
        status = 200 if request.path == "/" else 404
        return StubAnswer(b"<html>Welcome</html>", status, "text/html")

    with closing(StubServer(answer)) as server:
        yield server


def test_what_nobody_recognises_is_said_with_whom_was_asked(run, of_html, tmp_path):
    done = run(of_html.base_url)

    assert done.returncode == 3
    assert "Asked as:" in done.stderr
    assert "olog" in done.stderr
    assert "--adapter" in done.stderr
    assert not (tmp_path / "logchord.yaml").exists()


def test_a_wrong_kind_of_software_is_told_by_what_it_answers(run, of_html):
    done = run(of_html.base_url, "--adapter", "olog")

    assert done.returncode == 1
    assert "has nothing at" in done.stderr
    assert "404" in done.stderr
    assert "Copy the address from a browser" in done.stderr


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("http://no-such-host.invalid/", "'no-such-host.invalid' cannot be looked up"),
        ("http://127.0.0.1:9/", "Nobody answers at the address"),
    ],
)
def test_an_address_at_which_nobody_is_is_told_once_and_soon(run, where, told):
    began = time.monotonic()
    done = run(where)

    assert done.returncode == 3
    assert done.stderr.count(told) == 1
    # Of the software nothing is known yet, and nothing is said.
    assert "Asked as:" not in done.stderr
    assert time.monotonic() - began < 20


def test_a_file_that_is_not_there_is_told_as_that(run, tmp_path):
    done = run(str(tmp_path / "slip.jsonl"))
    assert done.returncode == 3
    assert (
        done.stderr.strip() == f"There is no file or folder at {tmp_path}/slip.jsonl."
    )


def test_a_login_that_is_missing_or_wrong_is_told_from_each_other(
    run, behind_a_login, tmp_path
):
    missing = run(behind_a_login.base_url)
    assert missing.returncode == 3
    assert "wants a login (401" in missing.stderr
    assert "--user" in missing.stderr
    login = ("--user", "reader", "--secret", "RING_PASSWORD")
    for adapter in ((), ("--adapter", "olog")):
        wrong = run(
            behind_a_login.base_url, *login, *adapter, RING_PASSWORD="open says me"
        )
        assert wrong.returncode in {1, 3}
        assert "refuses our login (401" in wrong.stderr
        assert "says me" not in wrong.stdout + wrong.stderr
    unset = run(behind_a_login.base_url, *login)
    assert "'RING_PASSWORD' is not there" in unset.stderr
    assert not (tmp_path / "logchord.yaml").exists()

    right = run(behind_a_login.base_url, *login, RING_PASSWORD="open sesame")
    assert right.returncode == 0, right.stderr
    assert "open sesame" not in (tmp_path / "logchord.yaml").read_text("utf-8")


def test_a_login_goes_where_its_adapter_looks_for_it(run, tmp_path):
    with closing(ElogServerStub(user="operator", password="s3cret")) as stub:
        stub.add(StubEntry(1, datetime.now(UTC) - timedelta(hours=3), "RF", "Trip"))
        address = str(stub.settings()["base_url"])
        zone = ("--timezone", "Europe/Zurich", "--logbook", "Operations")
        login = ("--user", "operator", "--secret", "ELOG_PASSWORD")

        without = run(address, *zone)
        assert without.returncode == 1
        assert "asks for a login" in without.stderr
        assert "--user" in without.stderr
        # What a login has read nobody is shown, unless it is said who is.
        hidden = run(address, *zone, *login, ELOG_PASSWORD="s3cret")
        assert hidden.returncode == 1
        assert "nobody may read Operations here" in hidden.stderr
        assert "--readers Operations='*'" in hidden.stderr
        assert not (tmp_path / "logchord.yaml").exists()
        readers = ("--readers", "Operations=ops", "--readers", "Operations=rf")
        told = (*zone, *login, *readers, "--name", "elog")
        done = run(address, *told, ELOG_PASSWORD="s3cret")

    assert done.returncode == 0, done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    args = written["sources"]["elog"]["args"]
    assert (args["user"], args["password"]) == ("operator", "ELOG_PASSWORD")
    assert args["readers"] == {"Operations": ["ops", "rf"]}
    assert "auth" not in written["sources"]["elog"]


def test_a_login_that_a_form_refuses_is_not_asked_for_once_more(run, tmp_path):
    (tmp_path / "password").write_text("wrong", "utf-8")
    (tmp_path / "password").chmod(0o600)
    with closing(ElogServerStub(logbooks=("Operations", "RF"))) as stub:
        for number, book in enumerate(("Operations", "RF"), 1):
            when = datetime.now(UTC) - timedelta(hours=3)
            stub.add(StubEntry(number, when, "RF", "Trip", logbook=book))
        stub.guard("RF")
        # A file beside whoever types is named as every process finds it.
        login = ("--user", "operator", "--secret", "password")
        readers = ("--readers", "RF=*", "--readers", "Operations=*")
        for books in ((), ("--logbook", "RF")):
            wrong = run(stub.base_url, *login, *readers, *books)
            assert wrong.returncode == 1
            assert "The login that you gave is refused" in wrong.stderr
            assert "Give a login" not in wrong.stderr
        for half in (login[:2], login[2:]):
            lacks = run(stub.base_url, *half)
            assert lacks.returncode == 2
            assert "give both" in lacks.stderr
        assert not (tmp_path / "logchord.yaml").exists()
        (tmp_path / "password").write_text("s3cret", "utf-8")
        done = run(stub.base_url, *login, *readers, "--name", "ring")
    assert done.returncode == 0, done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["ring"]["args"]["password"] == str(tmp_path / "password")


def test_a_logbook_that_a_server_does_not_name_is_told_with_those_that_it_does(run):
    with closing(ElogServerStub(logbooks=("Operations", "RF"))) as stub:
        wrong = run(stub.base_url, "--logbook", "operations")
    assert wrong.returncode == 1
    assert "names no logbook operations; it names Operations, RF" in wrong.stderr
    assert "--adapter" not in wrong.stderr


def test_a_server_without_its_scheme_is_not_taken_for_a_file(run):
    wrong = run("localhost:8080")
    assert wrong.returncode == 2
    assert "http://localhost:8080" in wrong.stderr


def test_a_certificate_of_the_facility_is_told_how_to_be_trusted(run, tmp_path):
    certificate = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    empty = StubAnswer(json.dumps({"hitCount": 0, "logs": []}).encode())
    with closing(StubServer(lambda _: empty)) as server:
        server.encrypt(context)
        where = server.base_url.replace("http://127.0.0.1", "https://localhost")
        refused = run(where)
        assert refused.returncode == 3
        assert "has signed the certificate of localhost" in refused.stderr
        place = where.removeprefix("https://")
        assert f"openssl s_client -connect {place} </dev/null" in refused.stderr
        assert not (tmp_path / "logchord.yaml").exists()

        done = run(where, "--ca-file", str(certificate), "--name", "ring")

        assert done.returncode == 0, done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["ring"]["ca_file"] == str(certificate)


def test_a_zone_that_is_wrong_shows_itself(run, tmp_path):
    wall = datetime.now(ZoneInfo("Asia/Tokyo")) - timedelta(minutes=5)
    record = {"id": "1", "timestamp": f"{wall:%Y-%m-%d %H:%M:%S}", "title": "RF trip"}
    (tmp_path / "log.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    log = str(tmp_path / "log.jsonl")

    none = run(log)
    assert none.returncode == 1
    assert "has no offset" in none.stderr
    assert "Say with --timezone" in none.stderr
    no_zone = run(log, "--timezone", "Asia/Tokio")
    assert no_zone.returncode == 2
    assert "'Asia/Tokio' is no time zone" in no_zone.stderr
    assert not (tmp_path / "logchord.yaml").exists()

    elsewhere = run(log, "--timezone", "Europe/London", "--name", "wrong")
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert "h in the future; `timezone` is Europe/London" in elsewhere.stderr
    right = run(log, "--timezone", "Asia/Tokyo", "--name", "right")
    assert right.returncode == 0, right.stderr
    assert "in the future" not in right.stderr
    assert re.search(rf"{wall:%Y-%m-%d %H:%M} JST \(\d+ min ago\)", right.stderr)


def test_a_name_that_is_taken_or_an_address_with_a_login_is_refused(run, olog):
    assert run(address(olog), "--name", "api").returncode == 2
    with_login = address(olog).replace("http://", "http://me:secret@")
    refused = run(with_login)
    assert refused.returncode == 2
    assert "secret@" not in refused.stderr
