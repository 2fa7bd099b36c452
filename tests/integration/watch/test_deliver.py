"""Alerts sent to a webhook that really listens: signed, bounded, tried again."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any
from uuid import UUID

import pytest

from shared.access import keys
from shared.access.installation_secret import installation_secret
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import InvalidRequestError
from shared.messaging.stage_names import METADATA_STAGE
from shared.watch import alert_rows, saved_searches, webhook
from shared.watch.saved_searches import AlertRule, SavedSearch, SavedSearchDraft
from tests.support.fixtures.workers import MakeContext
from tests.support.stub_servers.hook import Hook
from tests.support.stub_servers.smtp_server import MailServer
from workers.runtime.context import Context
from workers.tasks.alert import deliver, match_entries
from workers.tasks.enhance import extract_metadata

TENANT = "default"


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook().serving() as found:
        yield found


@pytest.fixture
def ctx(make_context: MakeContext, hook: Hook) -> Context:
    hosts = f"127.0.0.1:{hook.port}"
    return make_context(LOGCHORD_WEBHOOK_ALLOWED_HOSTS=hosts)


@pytest.fixture
def owner(conn: Any) -> Scope:
    made = keys.create_key(conn, tenant=TENANT, name="shift", scopes=("search",))
    conn.commit()
    return keys.find_by_id(conn, made.key_id)


@pytest.fixture
def saved(conn: Any, owner: Scope, hook: Hook) -> Callable[..., SavedSearch]:
    def make(filters: dict[str, Any] | None = None, **rule: Any) -> SavedSearch:
        told = AlertRule(enabled=True, **{"webhook_url": hook.url, **rule})
        request = {"query": "cavity", "filters": filters or {}}
        draft = SavedSearchDraft(
            "RF", request, semantic=False, similarity_threshold=None, alert=told
        )
        found = saved_searches.create(conn, owner, draft)
        conn.commit()
        return found

    return make


@pytest.fixture
def fire(conn: Any, ctx: Context) -> Callable[..., list[UUID]]:
    def fire(*names: str, **fields: Any) -> list[UUID]:
        drafts = [EntryDraft("api", one, f"cavity {one}", **fields) for one in names]
        done = save_page(conn, TENANT, drafts, stages=[METADATA_STAGE], editor="test")
        conn.commit()
        extract_metadata(ctx)
        match_entries(ctx)
        return [one.entry_id for one in done]

    return fire


def rows(conn: Any) -> list[tuple[Any, ...]]:
    conn.rollback()
    found = conn.execute(
        "SELECT delivered_at IS NOT NULL, due_at IS NOT NULL, attempts, last_error"
        "  FROM alert ORDER BY id"
    )
    return list(found.fetchall())


def due_now(conn: Any) -> None:
    conn.execute("UPDATE alert SET due_at = now() WHERE due_at IS NOT NULL")
    conn.commit()


@pytest.mark.requirement("I08")
def test_an_alert_is_posted_once_and_signed(ctx, conn, hook, saved, fire) -> None:
    one = saved()
    [entry_id] = fire("A")

    for _ in range(2):
        deliver(ctx)

    [told] = hook.came
    assert set(told) == {
        *("alert_id", "saved_search", "entry", "matched_by", "job_url"),
    }
    assert told["saved_search"] == {"id": str(one.id), "name": "RF"}
    assert told["entry"]["entry_id"] == str(entry_id)
    assert (told["entry"]["excerpt"], told["matched_by"]) == ("cavity A", ["keyword"])
    assert told["job_url"] == "/search?q=cavity&sort=newest"
    at, signature = (part.split("=")[1] for part in hook.signed[0].split(","))
    body = json.dumps(told, separators=(",", ":"))
    secret = webhook.make_signing_secret(installation_secret(conn), one.id)
    wanted = hmac.new(secret.encode(), f"{at}.{body}".encode(), hashlib.sha256)
    assert signature == wanted.hexdigest()
    assert abs(int(at) - datetime.now(UTC).timestamp()) < 60
    assert rows(conn) == [(True, False, 1, None)]


@pytest.mark.parametrize(
    ("filters", "address"),
    [
        ({"logbook": "a b"}, "/search?q=cavity&logbook=a+b&sort=newest"),
        (
            {"logbook": {"in": ["a b", "c"]}},
            "/search?q=cavity&logbook=a+b&logbook=c&sort=newest",
        ),
        # No address of the page says this: it leads to what was told.
        ({"logbook": {"not": ["c"]}}, "/saved?alerts={}#s-{}"),
    ],
)
def test_an_alert_leads_to_what_its_search_finds(
    ctx, hook, saved, fire, filters, address
) -> None:
    one = saved(filters)
    fire("A", logbooks=("a b",))

    deliver(ctx)

    [told] = hook.came
    assert told["job_url"] == address.replace("{}", str(one.id))


@pytest.mark.parametrize("status", [307, 500, 403])
def test_what_did_not_arrive_is_sent_again_later_and_no_redirect_is_followed(
    ctx, conn, hook, saved, fire, status
) -> None:
    saved()
    fire("A", "B")
    hook.statuses = [status]

    deliver(ctx)

    # The other waits as long: it would fail likewise.
    assert len(hook.came) == 1
    said = f"It was answered {status}."
    assert sorted(rows(conn)) == [(False, True, 0, None), (False, True, 1, said)]
    due_now(conn)
    deliver(ctx)
    assert sorted(rows(conn)) == [(True, False, 1, None), (True, False, 2, None)]
    assert len({one["alert_id"] for one in hook.came}) == 2


def test_after_eight_attempts_it_is_given_up_and_stays_listed(
    ctx, conn, hook, owner, saved, fire
) -> None:
    one = saved()
    fire("A")
    hook.statuses = [500] * 20

    for _ in range(10):
        deliver(ctx)
        due_now(conn)

    assert len(hook.came) == alert_rows.MOST_ATTEMPTS == 8
    [listed] = alert_rows.page(conn, owner, one.id, limit=5)
    assert (listed.attempts, listed.last_error) == (8, "It was answered 500.")


def test_a_sender_that_is_gone_loses_its_alert_after_the_lease(
    ctx: Context, conn: Any, hook: Hook, saved: Callable[..., SavedSearch], fire: Any
) -> None:
    saved()
    fire("A")
    alert_rows.claim(conn, 1)
    conn.commit()
    deliver(ctx)
    assert hook.came == []

    conn.execute("UPDATE alert SET leased_until = now() - interval '1 s'")
    conn.commit()
    deliver(ctx)
    assert len(hook.came) == 1


def test_what_no_sender_survives_is_given_up_after_as_many_attempts(
    ctx: Context, conn: Any, hook: Hook, saved: Callable[..., SavedSearch], fire: Any
) -> None:
    saved(digest="day")
    fire("A")
    for _ in range(alert_rows.MOST_ATTEMPTS):
        due_now(conn)
        [_] = alert_rows.claim(conn, 5)
        conn.execute("UPDATE alert SET leased_until = now() - interval '1 s'")
        conn.commit()
    fire("B")
    due_now(conn)

    deliver(ctx)

    [told] = hook.came
    [alert] = told["alerts"]
    assert alert["entry"]["external_id"] == "B"
    given_up, sent = sorted(rows(conn))
    assert given_up[:3] == (False, False, alert_rows.MOST_ATTEMPTS)
    assert sent[:3] == (True, False, 1)
    assert "lost" in given_up[3]


@pytest.mark.requirement("I08")
def test_a_digest_waits_for_the_end_of_its_day_and_goes_as_one(
    ctx: Context, conn: Any, hook: Hook, saved: Callable[..., SavedSearch], fire: Any
) -> None:
    saved(digest="day")
    ids = fire("A", "B", "C")
    deliver(ctx)
    assert hook.came == []
    [due] = conn.execute("SELECT DISTINCT due_at FROM alert").fetchall()
    assert due[0].astimezone(UTC).strftime("%H:%M:%S") == "00:00:00"

    due_now(conn)
    deliver(ctx)

    [told] = hook.came
    assert told["digest"] == "day"
    assert {one["entry"]["entry_id"] for one in told["alerts"]} == set(map(str, ids))


@pytest.mark.requirement("I08")
def test_what_is_late_or_sent_again_waits_for_the_end_of_quiet_hours(
    ctx, conn, hook, owner, saved, fire
) -> None:
    one = saved()
    fire("A", "B")
    hook.statuses = [500]
    deliver(ctx)
    assert len(hook.came) == 1
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    begins, ends = now - timedelta(hours=1), now + timedelta(hours=1)
    quiet = (f"{begins:%H:%M}", f"{ends:%H:%M}")
    rule = replace(one.rule, quiet_hours=quiet)
    draft = SavedSearchDraft(
        "RF", one.request, semantic=False, similarity_threshold=None, alert=rule
    )
    saved_searches.replace(conn, owner, one.id, draft)
    due_now(conn)

    deliver(ctx)

    assert len(hook.came) == 1
    # Each keeps its attempts.
    assert sorted(attempts for _, _, attempts, _ in rows(conn)) == [0, 1]
    [due] = conn.execute("SELECT DISTINCT due_at FROM alert").fetchall()
    assert due == (ends,)
    quiet_no_more = replace(draft, alert=one.rule)
    saved_searches.replace(conn, owner, one.id, quiet_no_more)
    due_now(conn)
    deliver(ctx)
    assert len(hook.came) == 3


@pytest.mark.requirement("I08")
def test_what_its_owner_lost_meanwhile_is_not_sent(ctx, conn, hook, owner, saved, fire):
    one = saved()
    fire("A")
    closed = EntryDraft("api", "A", "cavity A", readers=("others",))
    save_page(conn, TENANT, [closed], stages=[METADATA_STAGE], editor="test")
    conn.commit()
    assert alert_rows.page(conn, owner, one.id, limit=5) == []

    deliver(ctx)

    assert (hook.came, rows(conn)) == ([], [])


def test_whose_key_is_revoked_is_told_nothing_more(ctx, conn, hook, owner, saved, fire):
    saved()
    fire("A")
    keys.revoke(conn, TENANT, str(owner.key_id))
    conn.commit()

    deliver(ctx)

    said = "The key of its owner may not search."
    assert (hook.came, rows(conn)) == ([], [(False, False, 1, said)])


def test_a_host_that_is_named_no_more_is_not_asked(
    make_context, conn, hook, saved, fire
) -> None:
    saved()
    fire("A")

    deliver(make_context())

    [(is_sent, is_due, _, said)] = rows(conn)
    assert (hook.came, is_sent, is_due) == ([], False, True)
    assert "webhook_allowed_hosts" in said


@pytest.mark.parametrize(
    ("url", "hosts", "is_good"),
    [
        ("https://a.example/x", ["a.example"], True),
        ("http://a.example/x", ["a.example"], True),
        ("https://a.example:8443/x", ["a.example"], False),
        ("https://a.example:8443/x", ["a.example:8443"], True),
        ("http://[::1]:8/x", ["[::1]:8"], True),
        ("https://b.example/x", ["a.example"], False),
        ("https://a.example.b.example/x", ["a.example"], False),
        ("https://a.example@b.example/x", ["a.example", "b.example"], False),
        ("http://2130706433/x", ["2130706433"], False),
        ("ftp://a.example/x", ["a.example"], False),
    ],
)
def test_an_address_is_of_a_named_host(url, hosts, *, is_good) -> None:
    if is_good:
        webhook.check_address(url, hosts)
        return
    with pytest.raises(InvalidRequestError):
        webhook.check_address(url, hosts)


def test_a_host_that_is_not_named_is_told_as_it_is_to_be_named() -> None:
    for url, named in (("https://a/x", "a"), ("http://[::1]:8/x", "[::1]:8")):
        with pytest.raises(InvalidRequestError) as caught:
            webhook.check_address(url, [url])
        assert caught.value.message.startswith(f"{named} is not among")
        webhook.check_address(url, [named])


def test_a_rule_of_quiet_hours_is_kept(conn, owner, saved) -> None:
    one = saved(quiet_hours=("22:00", "06:00"), digest="shift")

    found = saved_searches.find(conn, owner, one.id)

    wanted = AlertRule(enabled=True, webhook_url=one.rule.webhook_url, digest="shift")
    assert found.rule == replace(wanted, quiet_hours=("22:00", "06:00"))


@pytest.fixture
def mails(
    make_context: MakeContext, owner: Scope, conn: Any, fire: Any
) -> Callable[..., EmailMessage]:
    def send(title: str, **settings: str) -> EmailMessage:
        """Return the mail that an entry of this title makes."""
        told = AlertRule(enabled=True, webhook_url="mailto:me@example.org")
        draft = SavedSearchDraft(
            "RF\r\nBcc: a@b",
            {"query": "cavity"},
            semantic=False,
            similarity_threshold=None,
            alert=told,
        )
        saved_searches.create(conn, owner, draft)
        conn.commit()
        fire("A", title=title, authors=("J. Ruiz",))
        with MailServer().serving() as server:
            where = f"smtp://127.0.0.1:{server.port}?from=logchord@example.org"
            deliver(
                make_context(
                    LOGCHORD_WEBHOOK_ALLOWED_HOSTS="example.org",
                    LOGCHORD_SMTP_URL=where,
                    **settings,
                )
            )
        [mail] = server.mails
        assert "rcpt TO:<me@example.org>" in server.commands
        return mail

    return send


def test_an_alert_is_mailed_in_plain_words_with_an_address_that_stays(
    conn: Any, mails: Callable[..., EmailMessage]
) -> None:
    where = "https://logbook.example.org"
    mail = mails("Trip\r\nBcc: all@example.org", LOGCHORD_PUBLIC_URL=where)

    # Neither what an entry nor what a search is called adds a header.
    assert mail["Bcc"] is None
    assert mail["Subject"] == "RF Bcc: a@b: Trip Bcc: all@example.org"
    assert mail.get_content_type() == "text/plain"
    assert mail["Auto-Submitted"] == "auto-generated"
    [(alert_id,)] = conn.execute("SELECT id::text FROM alert").fetchall()
    assert mail["Message-ID"] == f"<{alert_id}@example.org>"
    said = mail.get_content()
    assert "api/A  J. Ruiz" in said
    assert "cavity A" in said
    assert f"{where}/e/api/A" in said
    assert f"{where}/search?q=cavity" in said
    assert rows(conn) == [(True, False, 1, None)]


def test_a_chat_is_told_a_digest_as_text_alone(
    ctx: Context, conn: Any, hook: Hook, saved: Callable[..., SavedSearch], fire: Any
) -> None:
    saved(digest="day", webhook_url=f"chat+{hook.url}")
    fire("A", "B", title="<b> @all", url="https://elsewhere/1")
    due_now(conn)

    deliver(ctx)

    [told] = hook.came
    assert set(told) == {"text"}
    subject, *lines = told["text"].splitlines()
    assert subject == "RF: 2 entries"
    assert lines[1:3] == ["&lt;b&gt; @\u200ball", "https://elsewhere/1"]
    assert lines[-1] == "RF: /search?q=cavity&amp;sort=newest"
    assert rows(conn) == [(True, False, 1, None)] * 2
