"""A small mail server: its answers follow RFC 5321, and 3207 and 4954 for a login."""

import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Self

_ANSWERS = {"MAIL": "250 2.1.0 OK", "AUTH": "235 2.7.0 in"}


@dataclass
class MailServer:
    """Keeps the commands it is given, and each mail as it came."""

    # None: it speaks no TLS.
    tls: ssl.SSLContext | None = None
    port: int = 0
    commands: list[str] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    # How long it looks into a text, and what it says to a farewell.
    looks_seconds: float = 0.0
    farewell: str = "221 2.0.0 bye"
    # To whom a mail may go, as it answers.
    recipient: str = "250 2.1.5 OK"

    @property
    def mails(self) -> list[EmailMessage]:
        return [message_from_bytes(one, policy=policy.default) for one in self.raw]

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve until the end of the block."""
        handler = type("Handler", (_Handler,), {"mine": self})
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
            self.port = server.server_address[1]
            threading.Thread(target=server.serve_forever, args=(0.05,)).start()
            try:
                yield self
            finally:
                server.shutdown()


class _Handler(socketserver.StreamRequestHandler):
    mine: MailServer

    def handle(self) -> None:
        # Whoever does not trust us hangs up.
        with suppress(OSError):
            self._say("220 localhost ready")
            self._listen()

    def _listen(self) -> None:
        while line := self.rfile.readline():
            command = line.decode("ascii").rstrip("\r\n")
            self.mine.commands.append(command)
            verb = command[:4].upper()
            if verb == "QUIT":
                self._say(self.mine.farewell)
                return
            self._obey(verb)

    def _obey(self, verb: str) -> None:
        if verb == "EHLO":
            is_safe = isinstance(self.request, ssl.SSLSocket)
            offered = "250 AUTH PLAIN" if is_safe else "250 STARTTLS"
            self._say("250-localhost", offered if self.mine.tls else "250 HELP")
        elif verb == "STAR" and self.mine.tls:
            self._say("220 2.0.0 ready")
            with self.mine.tls.wrap_socket(self.request, server_side=True) as safe:
                self.request = safe
                self.setup()
                self._listen()
        elif verb == "RCPT":
            self._say(self.mine.recipient)
        elif verb == "DATA":
            self._say("354 end with a dot")
            lines = iter(self.rfile.readline, b".\r\n")
            self.mine.raw.append(b"".join(one.removeprefix(b".") for one in lines))
            threading.Event().wait(self.mine.looks_seconds)
            self._say("250 2.0.0 taken")
        else:
            self._say(_ANSWERS.get(verb, "502 5.5.1 not here"))

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{one}\r\n" for one in lines).encode())
