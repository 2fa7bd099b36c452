"""Mails go to nobody whom an admin has not allowed, and no password goes bare."""

import base64
import ssl
from pathlib import Path

import pytest
from pydantic import SecretStr

from shared.errors import InvalidRequestError
from shared.watch import mail
from tests.support.certificates import make_certificate
from tests.support.stub_servers.smtp_server import MailServer


@pytest.mark.parametrize(
    ("address", "domains", "is_good"),
    [
        ("a@example.org", ["example.org"], True),
        ("a@Example.org", ["EXAMPLE.org"], True),
        ("a@example.com", ["example.org"], False),
        ("a@b@example.org", ["example.org"], False),
        ("a@example.org,c@d.e", ["example.org"], False),
        ("a@example.org?cc=c@d.e", ["example.org"], False),
        ("a@example.org\r\nX: y", ["example.org"], False),
    ],
)
def test_a_mail_goes_to_one_address_of_a_named_domain(
    address: str, domains: list[str], *, is_good: bool
) -> None:
    server = SecretStr("smtp://h?from=l@example.org")
    if is_good:
        mail.check_address(f"mailto:{address}", domains, server)
        with pytest.raises(InvalidRequestError):
            mail.check_address(f"mailto:{address}", domains, None)
        return
    with pytest.raises(InvalidRequestError):
        mail.check_address(f"mailto:{address}", domains, server)


def test_a_password_is_given_over_tls_and_never_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(server: MailServer, host: str) -> str | None:
        secret = SecretStr(f"smtp://me:p%40ss@{host}:{server.port}?from=me@example.org")
        to = "mailto:you@example.org"
        return mail.send(to, "1", "é\n.", "é\n.\n", ["example.org"], secret)

    with MailServer().serving() as bare:
        assert "no TLS" in str(send(bare, "127.0.0.1"))
    assert not any(one.upper().startswith(("AUTH", "MAIL")) for one in bare.commands)

    certificate = make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, tmp_path / "key.pem")
    with MailServer(tls).serving() as server:
        assert "CERTIFICATE_VERIFY_FAILED" in str(send(server, "localhost"))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert send(server, "localhost") is None
    login = base64.b64encode(b"\0me\0p@ss").decode()
    assert f"AUTH PLAIN {login}" in server.commands
    [sent] = server.mails
    assert (sent["Subject"], sent.get_content().split()) == ("é .", ["é", "."])


def test_what_a_mail_server_says_to_a_mail_is_heard_and_not_what_it_says_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mail, "SECONDS", 0.3)

    def send(server: MailServer) -> str | None:
        secret = SecretStr(f"smtp://127.0.0.1:{server.port}?from=me@example.org")
        to = "mailto:you@example.org"
        return mail.send(to, "1", "s", "t", ["example.org"], secret)

    with MailServer(looks_seconds=0.6).serving() as late:
        assert send(late) is None
    with MailServer(farewell="421 4.3.2 it is full here").serving() as rude:
        assert send(rude) is None
    with MailServer(recipient="550-5.1.1 no such\r\n550 person").serving() as strict:
        refused = send(strict)
    assert refused == "The mail server did not take it: 550 5.1.1 no such person"
    # Not without an end: others wait behind it.
    monkeypatch.setattr(mail, "SECONDS_IN_ALL", 0.4)
    with MailServer(looks_seconds=0.6).serving() as late:
        assert "timed out" in str(send(late))
