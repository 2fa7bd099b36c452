"""Mails: plain text to one address of a named domain, by the admin's own server."""

import re
import smtplib
import ssl
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, cast
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from pydantic import SecretStr

from shared.errors import InvalidRequestError
from shared.watch import webhook

SCHEME = "mailto:"
# For each answer of the server, and for all of them: once it has the text it may look
# for viruses, and whoever does not wait then hands it the same mail again.
SECONDS, SECONDS_IN_ALL = 10.0, 25.0
_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}@([A-Za-z0-9][A-Za-z0-9.-]{0,250})")
_SUBJECT_CHARACTERS = 200


def check_address(url: str, domains: Sequence[str], smtp_url: SecretStr | None) -> None:
    """Refuse what is no single address of a named domain, or if no server is set."""
    match = _ADDRESS.fullmatch(url.removeprefix(SCHEME))
    if match is not None and smtp_url is not None:
        if match[1].lower() not in {one.lower() for one in domains}:
            raise webhook.refuse_host(match[1])
        return
    flaw = "no mails are sent from here until an admin sets `smtp_url`"
    if match is None:
        flaw = "it is not one address, as mailto:me@example.org"
    message = f"This address cannot be used: {flaw}."
    raise InvalidRequestError.field("alert.webhook_url", "value", message)


def send(
    url: str,
    message_id: str,
    subject: str,
    text: str,
    domains: Sequence[str],
    smtp_url: SecretStr | None,
) -> str | None:
    """Hand a mail over; return why it was not taken, or None if it was."""
    try:
        # Asked anew: the setting may name fewer by now.
        check_address(url, domains, smtp_url)
    except InvalidRequestError as exc:
        return exc.message
    assert smtp_url is not None
    server = urlsplit(smtp_url.get_secret_value())
    [sender] = parse_qs(server.query)["from"]
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, url.removeprefix(SCHEME)
    # What an entry is called ends no header.
    line = "".join(c if c.isprintable() else " " for c in subject)
    mail["Subject"] = " ".join(line.split())[:_SUBJECT_CHARACTERS]
    mail["Date"] = format_datetime(datetime.now(UTC))
    mail["Message-ID"] = f"<{message_id}@{sender.partition('@')[2]}>"
    # Nobody's absence is answered to a machine.
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(text, cte="quoted-printable")
    try:
        _hand_over(server, mail)
    except (OSError, ValueError, smtplib.SMTPException) as exc:
        return f"The mail server did not take it: {_explain(exc)}"
    return None


def _explain(exc: Exception) -> str:
    """Return the server's own words, if it said any."""
    match exc:
        case smtplib.SMTPRecipientsRefused(recipients=refused):
            [(code, words)] = refused.values()
        case smtplib.SMTPResponseException(smtp_code=code, smtp_error=words):
            pass
        case _:
            return f"{type(exc).__name__}: {exc}"
    said = cast("bytes | str", words)
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"{code} {' '.join(text.split())}"


class _Dialogue(smtplib.SMTP):
    """Waits for each answer, and longer for the one to a text that was sent."""

    def __init__(self, host: str, port: int, **how: Any) -> None:
        self._most, self._ends = SECONDS, time.monotonic() + SECONDS_IN_ALL
        super().__init__(host, port, timeout=SECONDS, **how)

    def data(self, msg: Any) -> Any:
        self._most = SECONDS_IN_ALL
        return super().data(msg)

    def getreply(self) -> tuple[int, bytes]:
        left = min(self._most, self._ends - time.monotonic())
        if self.sock is not None:
            self.sock.settimeout(max(left, 0.001))
        return super().getreply()


class _SafeDialogue(_Dialogue, smtplib.SMTP_SSL):
    """Speaks TLS at once."""


def _hand_over(server: SplitResult, mail: EmailMessage) -> None:
    trusted = ssl.create_default_context()
    host, port = server.hostname or "", server.port
    is_safe = server.scheme == "smtps"
    with closing(
        _SafeDialogue(host, port or 465, context=trusted)
        if is_safe
        else _Dialogue(host, port or 587)
    ) as client:
        client.ehlo()
        if not is_safe and client.has_extn("starttls"):
            client.starttls(context=trusted)
            is_safe = True
        if server.username is not None:
            if not is_safe:
                raise smtplib.SMTPNotSupportedError("no TLS, and so no password")
            client.login(unquote(server.username), unquote(server.password or ""))
        client.send_message(mail)
        # It is taken, whatever is said to a farewell.
        with suppress(OSError, smtplib.SMTPException):
            client.quit()
