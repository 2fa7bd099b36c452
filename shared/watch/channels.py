"""The ways to tell somebody: a signed post, a post to a chat, a mail."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from shared.settings.settings import Settings
from shared.watch import mail, webhook

# Before `https://`: the webhook takes the text alone, as Slack and Mattermost do.
_CHAT = "chat+"
_MOST_CHARACTERS = 15_000
# Whom a chat would wake, were it not for the mark between.
_MENTION = re.compile(r"@(?=(?:all|channel|everyone|here)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody is told: in fields for a program, in words for a reader."""

    # The same when it is sent again.
    id: str
    subject: str
    text: str
    told: Mapping[str, Any]


def check_address(url: str, settings: Settings) -> None:
    """Refuse an address of no channel, or whose host the admin has not named."""
    hosts = settings.webhook_allowed_hosts
    if url.startswith(mail.SCHEME):
        mail.check_address(url, hosts, settings.smtp_url)
    else:
        webhook.check_address(url.removeprefix(_CHAT), hosts)


def send(
    url: str,
    message: Message,
    secret: str | None,
    settings: Settings,
    is_cancelled: Callable[[], bool],
) -> str | None:
    """Send a message; return why it did not arrive, or None if it did."""
    hosts = settings.webhook_allowed_hosts
    if url.startswith(mail.SCHEME):
        text = message.text[:_MOST_CHARACTERS]
        return mail.send(
            url, message.id, message.subject, text, hosts, settings.smtp_url
        )
    told = message.told
    if url.startswith(_CHAT):
        words = f"{message.subject}\n{message.text}"[:_MOST_CHARACTERS]
        told = {"text": _MENTION.sub("@\u200b", escape(words, quote=False))}
    return webhook.send(url.removeprefix(_CHAT), told, secret, hosts, is_cancelled)


def link(settings: Settings, path: str) -> str:
    """Return the address of a page, whole where it is known what stands before it."""
    return f"{settings.public_url or ''}{settings.base_path}{path}"
