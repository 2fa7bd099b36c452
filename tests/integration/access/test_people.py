"""People who come through a gateway: who they are, and what they may, at each request.

The headers are those that oauth2-proxy sends with `--pass-user-headers`, its default.
U22 names OIDC beside a header: user and groups of OIDC come by this header, from a
gateway that speaks it (ADR 36); Logchord itself does not.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from shared.access import keys
from tests.support.fixtures.system import System
from tests.support.read_page import read_page
from tests.support.waiting import until

HTML = {"accept": "text/html"}
GROUPS = """
    operators: {scopes: [read, search, ingest]}
    rf: {scopes: [read], logbooks: [RF]}
"""
FILE = """people:
  header: X-Forwarded-User
  groups_header: X-Forwarded-Groups
  sign_out: /oauth2/sign_out
  groups:"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "logchord.yaml"
    path.write_text(FILE + GROUPS)
    return path


@pytest.fixture(scope="module")
def gated(make_api: Callable[..., System], file: Path) -> System:
    """An API that heeds the gateway on 127.0.0.1 alone."""
    return make_api(LOGCHORD_CONFIG=str(file), LOGCHORD_TRUSTED_PROXIES="127.0.0.1")


@pytest.fixture
def come(gated: System) -> Iterator[Callable[..., httpx2.Client]]:
    """Come through the gateway as somebody, with a key, too, where one is given."""
    opened: list[httpx2.Client] = []

    def come(person: str, groups: str, key: str = "", **more: str) -> httpx2.Client:
        named = {"X-Forwarded-User": person, "X-Forwarded-Groups": groups, **more}
        opened.append(gated.client(key))
        opened[-1].headers.update({k.encode(): v.encode() for k, v in named.items()})
        return opened[-1]

    yield come
    for one in opened:
        one.close()


Come = Callable[..., httpx2.Client]


@pytest.mark.requirement("U22")
def test_a_person_is_told_who_they_are(come: Come) -> None:
    me = come("Jürgen", "rf,cryo").get("/v1/me").json()

    assert (me["subject"], me["groups"]) == ("Jürgen", ["rf", "cryo"])
    assert (me["key_id"], me["name"], me["tenant"]) == (None, None, "default")
    assert (me["scopes"], me["logbooks"]) == (["read"], ["RF"])


@pytest.mark.requirement("U22")
def test_a_group_that_is_taken_away_is_gone_with_the_next_request(
    come: Come, file: Path
) -> None:
    ben = come("ben", "rf")
    assert ben.get("/v1/me").status_code == 200
    try:
        file.write_text(FILE + " {rf: {logbooks: [Vacuum]}}")
        assert ben.get("/v1/me").json()["logbooks"] == ["Vacuum"]
        file.write_text(FILE + " {operators: {}}")
        refused = ben.get("/v1/me")
    finally:
        file.write_text(FILE + GROUPS)

    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (403, "scope_missing")
    assert error["message"] == "ben is in none of the groups that may use this."
    assert ben.get("/v1/me").json()["logbooks"] == ["RF"]


@pytest.mark.requirement("U22", "SEC1")
def test_a_header_is_refused_from_whoever_is_not_the_gateway(gated: System) -> None:
    elsewhere = httpx2.HTTPTransport(local_address="127.0.0.2")
    named = {"X-Forwarded-User": "anna", "X-Forwarded-Groups": "operators"}
    with gated.client(transport=elsewhere) as stranger:
        assert stranger.get("/v1/me").status_code == 200
        refused = stranger.get("/v1/me", headers=named)
        page = stranger.get("/", headers={**named, **HTML})

    assert (refused.status_code, page.status_code) == (403, 403)
    assert refused.json()["error"]["code"] == "origin_refused"
    assert "X-Forwarded-User counts from trusted_proxies alone; 127.0.0.2" in page.text


def test_a_refusal_says_what_the_gateway_has_sent(come: Come) -> None:
    nobody = come("", "operators").get("/v1/me")
    odd = come("anna", "rf,R\u00a0F").get("/v1/me")

    assert (nobody.status_code, odd.status_code) == (401, 403)
    assert "named nobody in X-Forwarded-User" in nobody.json()["error"]["message"]
    assert "The gateway names 'R\\xa0F'" in odd.json()["error"]["message"]


def test_every_page_names_whom_the_gateway_has_let_in(come: Come) -> None:
    anna = come("anna", "operators", **HTML)
    for path in ("/", "/help", "/login"):
        page = anna.get(path).text
        assert 'title="Logged in as anna"' in page, path
        assert "Log in" not in page, path


@pytest.mark.requirement("U22")
def test_an_agent_that_acts_for_somebody_may_no_more_than_either(
    gated: System, come: Come
) -> None:
    with psycopg.connect(gated.database) as conn:
        made = keys.create_key(
            conn,
            tenant="default",
            name="agent",
            scopes=["read", "ingest"],
            logbooks=["RF", "Vacuum"],
        )
    with gated.client() as writer:
        for book, readers in (("RF", None), ("Vacuum", None), ("RF", ["anna"])):
            body = {"text": "x", "logbook": book, "readers": readers}
            assert writer.post("/v1/entries", json=body).status_code == 201

    # Of readers neither is the other: what is for Anna alone is not for her agent.
    anna, ben = come("anna", "operators"), come("ben", "rf")
    agents = come("anna", "operators", made.token), come("ben", "rf", made.token)
    with gated.client(made.token) as alone:
        totals = {
            name: [one["text"] for one in who.get("/v1/entries").json()["items"]].count(
                "x"
            )
            for name, who in {
                "agent": alone,
                "anna": anna,
                "ben": ben,
                "agent of anna": agents[0],
                "agent of ben": agents[1],
            }.items()
        }
    assert totals == {
        "agent": 2,
        "anna": 3,
        "ben": 1,
        "agent of anna": 2,
        "agent of ben": 1,
    }
    body = {"text": "y", "logbook": "RF", "external_id": "Y"}
    pushed = [who.post("/v1/entries", json=body).status_code for who in agents]
    assert pushed == [201, 403]
    me = agents[1].get("/v1/me").json()
    assert (me["subject"], me["name"], me["scopes"]) == ("ben", "agent", ["read"])


@pytest.mark.requirement("U22")
def test_what_somebody_saves_is_theirs_however_they_come(
    gated: System, come: Come
) -> None:
    anna, ben = come("anna", "operators"), come("ben", "operators")
    body = {"name": "arcs", "request": {"query": "arc"}}
    saved = anna.post("/v1/saved-searches", json=body).json()
    path = f"/v1/saved-searches/{saved['id']}"

    assert ben.get(path).status_code == 404
    assert ben.get("/v1/saved-searches").json()["items"] == []
    assert anna.get(path).status_code == 200
    with gated.client(gated.key(subject="anna")) as by_key:
        assert by_key.delete(path).status_code == 204


@pytest.mark.requirement("U30", "U22")
def test_the_audit_names_the_person_and_the_key_that_acts_for_them(
    gated: System, come: Come
) -> None:
    key = gated.key(tenant="default")
    come("audrey", "operators").get("/v1/digest")
    come("audrey", "operators", key).get("/v1/digest")
    statement = "SELECT way_in, key_id FROM audit_record WHERE subject = 'audrey'"
    with psycopg.connect(gated.database, autocommit=True) as conn:
        until(
            lambda: len(conn.execute(statement).fetchall()) == 2,
            within_seconds=5,
            what="both rows",
        )
        found = conn.execute(statement).fetchall()
    assert set(found) == {("gateway", None), ("gateway", key.split("_")[1])}


@pytest.mark.requirement("U22", "SEC8")
def test_each_person_has_a_limit_of_their_own(gated: System, come: Come) -> None:
    def left(who: httpx2.Client) -> int:
        return int(who.get("/v1/me").headers["RateLimit-Remaining"])

    key = gated.key()
    first, *_, last = [left(come("greedy", "rf")) for _ in range(9)]
    assert last < first - 4
    assert left(come("patient", "rf")) == first
    assert left(come("person:greedy", "rf")) == first
    # A key of no limit has none for whom it acts, either.
    assert "RateLimit-Limit" not in come("greedy", "rf", key).get("/v1/me").headers


@pytest.mark.requirement("U22")
def test_the_page_needs_no_key_of_a_person_and_says_who_they_are(come: Come) -> None:
    anna = come("anna", "operators", **HTML)

    home = read_page(anna.get("/").text)
    login = anna.get("/login").text

    assert home.one("a", title="Logged in as anna").text == "anna"
    assert read_page(login).one("h1").text == "You are anna"
    assert read_page(login).one("a", href="/oauth2/sign_out").text == "Sign out there"
    assert "csrf" not in login
    refused = come("carl", "cryo", **HTML).get("/")
    assert refused.status_code == 403
    assert "carl is in none of the groups that may use this." in refused.text
    # A key would give him nothing.
    assert "another key" not in refused.text
    lacks = come("ben", "rf", **HTML).get("/quarantine").text
    assert "the scope &#39;admin&#39;, which ben lacks" in lacks
    assert "another key" not in lacks
    assert "carl is in none" in come("carl", "cryo", **HTML).get("/login").text


@pytest.mark.requirement("U22", "SEC1")
def test_a_form_is_sent_by_whom_it_was_shown_to_and_from_here(
    gated: System, come: Come
) -> None:
    anna, ben = come("anna", "operators", **HTML), come("ben", "operators", **HTML)
    page = read_page(anna.get("/saved?q=arc").text)
    form = {"csrf": page.one("input", name="csrf")["value"], "q": "arc", "name": "a"}
    ours = {"origin": gated.url}

    def sent(who: httpx2.Client, **headers: str) -> int:
        return who.post("/saved", data=form, headers=headers).status_code

    assert sent(anna, origin="http://evil.example") == sent(anna) == 403
    assert sent(ben, **ours) == 403
    assert sent(anna, **ours) == 303
    entry = {"text": "forged"}
    forged = anna.post("/v1/entries", json=entry, headers={"origin": "http://evil"})
    assert forged.json()["error"]["code"] == "origin_refused"
    assert anna.post("/v1/entries", json=entry, headers=ours).status_code == 201
