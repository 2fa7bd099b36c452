"""An ELOG behind a login: by cookies, by its form, and what strangers are told."""

from collections.abc import Iterator

import pytest

from shared.errors import IngestionError
from tests.contract.elogs import fetched, listed, message, over_server
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.walking import ids
from workers.adapters.elog.elog_http import ElogHTTP
from workers.adapters.kit.stub import StubFile

STUB = ElogServerStub
_GUARD = {"user": "operator", "password": "s3cret"}
_LOGIN = {"user": "operator", "password": "ELOG_PASSWORD"}


@pytest.fixture
def io() -> Iterator[PlainIO]:
    with PlainIO(secrets={"ELOG_PASSWORD": "s3cret"}, max_retries=0) as made:
        yield made


def test_a_login_is_two_cookies_and_restricted_books_are_hidden_until_told(
    make_stub, io
):
    stub = make_stub(**_GUARD)
    stub.add(message(1))
    adapter = over_server(stub, io, args=_LOGIN)
    assert fetched(adapter, "Operations/1").readers == ()
    report = adapter.check()
    assert report.restricted == ("Operations",)
    assert "Nobody may read Operations" in report.problems[0]
    told = over_server(stub, io, args={**_LOGIN, "readers": {"*": ["ops"]}})
    assert fetched(told, "Operations/1").readers == ("ops",)
    for redirects in (False, True):
        stub.redirects_to_login = redirects
        with pytest.raises(IngestionError) as caught:
            list(over_server(stub, io).list_ids(None))
        assert caught.value.reason == "login_required"


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("asks_others", [False, True])
def test_open_and_guarded_logbooks_of_one_server_are_read_together(
    make_stub, io, is_old, asks_others
):
    books = ("Operations", "RF")
    stub = make_stub(**_GUARD, asks_others=asks_others, is_old=is_old, logbooks=books)
    stub.open_books = {"Operations"}
    for book in books:
        stub.add(message(1, logbook=book, files=(StubFile("a.txt", b"within"),)))
    adapter = over_server(stub, io, args=_LOGIN)
    assert set(listed(adapter)) == {"Operations/1", "RF/1"}
    assert set(ids(adapter.pages(None))) == {"Operations/1", "RF/1"}
    assert fetched(adapter, "Operations/1").readers is None
    guarded = fetched(adapter, "RF/1")
    assert guarded.readers == ()
    assert adapter.check().restricted == ("RF",)
    (ref,) = guarded.attachments
    assert b"".join(adapter.fetch_attachment(ref)) == b"within"
    # How each is asked is remembered: the next run asks once.
    before = len(stub.requests())
    listed(over_server(stub, io, args=_LOGIN))
    assert len(stub.requests()) - before <= (3 if asks_others else 2)


@pytest.mark.parametrize("books", [("Operations", "RF"), ("RF", "Operations")])
def test_a_logbook_that_wants_a_login_is_named_and_the_others_are_read(
    make_stub, io, books
):
    stub = make_stub(**_GUARD, logbooks=books)
    stub.open_books = {"Operations"}
    stub.add(message(1))
    stub.add(message(1, logbook="RF"))
    adapter = over_server(stub, io)
    assert set(listed(adapter)) == {"Operations/1"}
    assert list(adapter.unread()) == ["RF/"]
    pages = list(over_server(stub, io).pages(None))
    assert ids(pages) == ["Operations/1"]
    assert pages[-1].is_last
    report = over_server(stub, io).check()
    assert (report.entries, len(report.problems)) == (1, 1)
    assert "asks for a login for RF" in report.problems[0]
    with pytest.raises(IngestionError) as caught:
        over_server(stub, io, args={"logbooks": ("RF",)}).check()
    assert "for RF" in caught.value.message


def test_a_message_that_shows_a_login_is_none(stub, io):
    stub.add(message(1, text='<input type="password">'))
    assert fetched(over_server(stub, io), "Operations/1").text.startswith("<input")


@pytest.fixture
def asking_others(make_stub):
    """A server that does not keep the passwords itself."""
    return make_stub(**_GUARD, asks_others=True)


def _posts(stub: ElogServerStub) -> int:
    return sum(one.startswith("POST ") for one in stub.requests())


@pytest.mark.parametrize("redirects", [False, True])
def test_where_cookies_are_not_enough_the_form_makes_a_session(
    asking_others, io, redirects
):
    asking_others.redirects_to_login = redirects
    for number in (1, 2, 3):
        asking_others.add(message(number))
    adapter = over_server(asking_others, io, args=_LOGIN)

    assert len(list(adapter.list_ids(None))) == 3
    assert adapter.fetch("Operations/2") is not None
    assert sum(len(page.items) for page in adapter.pages(None)) == 3
    assert _posts(asking_others) == 1

    # It ends when the server is started anew, or when its time is over.
    asking_others.end_sessions()
    assert adapter.fetch("Operations/3") is not None
    assert _posts(asking_others) == 2
    assert not any("s3cret" in one for one in asking_others.requests())


def test_a_refused_form_is_a_refused_login_and_is_not_sent_again(asking_others, io):
    asking_others.add(message(1))
    with PlainIO(secrets={"ELOG_PASSWORD": "wrong"}, max_retries=2) as other:
        adapter = over_server(asking_others, other, args=_LOGIN)
        with pytest.raises(IngestionError) as caught:
            list(adapter.list_ids(None))
    assert caught.value.reason == "login_required"
    assert "wrong" not in f"{caught.value.message} {caught.value.technical}"
    assert _posts(asking_others) == 1
    with pytest.raises(IngestionError):
        list(over_server(asking_others, io).list_ids(None))
    assert _posts(asking_others) == 1, "nobody without a user fills in a form"


def test_files_are_fetched_with_the_same_login_and_no_others_are(
    asking_others, make_stub, io
):
    asking_others.add(message(1, files=(StubFile("a.txt", b"within"),)))
    known = over_server(asking_others, io, args=_LOGIN)
    (ref,) = fetched(known, "Operations/1").attachments
    asking_others.end_sessions()
    assert b"".join(known.fetch_attachment(ref)) == b"within"

    stranger = make_stub()
    stranger.add(message(1, files=(StubFile("a.txt", b"elsewhere"),)))
    (foreign,) = fetched(over_server(stranger, io), "Operations/1").attachments
    assert b"".join(known.fetch_attachment(foreign)) == b"elsewhere"
    assert stranger.cookies[-1] is None


def test_an_elog_behind_a_login_is_recognised_by_what_it_calls_itself(make_stub, io):
    found = ElogHTTP.recognise(make_stub(**_GUARD).base_url, io)
    assert found is not None
    assert found.asks == ("user", "password", "logbooks")
