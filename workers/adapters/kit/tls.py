"""A way to a stub that is encrypted by a certificate which nobody has signed."""

import select
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

HOST = "127.0.0.1"
_PIECE = 65_536
_LOOK_SECONDS = 0.1
_SHAKE_SECONDS = 5


@dataclass(slots=True)
class Front:
    """What stands before a stub."""

    # The stub's own address, by way of here.
    url: str
    # Whoever names it as an authority trusts the way.
    ca_file: str
    # How often somebody has knocked.
    knocks: int = 0


@contextmanager
def front(url: str) -> Iterator[Front]:
    """Lead to a server by TLS, as long as the block lasts."""
    certificate = _certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    ending = threading.Event()
    parts = urlsplit(url)
    behind = (parts.hostname or HOST, parts.port or 80)
    threads: list[threading.Thread] = []
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(_LOOK_SECONDS)
        port = listener.getsockname()[1]
        way = parts._replace(scheme="https", netloc=f"{HOST}:{port}").geturl()
        made = Front(way, str(certificate))

        def serve() -> None:
            while not ending.is_set():
                with suppress(TimeoutError):
                    plain, _ = listener.accept()
                    made.knocks += 1
                    known = (context, plain, behind, ending)
                    threads.append(threading.Thread(target=_lead, args=known))
                    threads[-1].start()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield made
        finally:
            ending.set()
            for one in (thread, *threads):
                one.join()


def _lead(
    context: ssl.SSLContext,
    plain: socket.socket,
    behind: tuple[str, int],
    ending: threading.Event,
) -> None:
    plain.settimeout(_SHAKE_SECONDS)
    # Who does not trust the certificate hangs up in the middle of it.
    with (
        suppress(OSError),
        plain,
        context.wrap_socket(plain, server_side=True) as near,
        socket.create_connection(behind) as far,
    ):
        while not ending.is_set():
            ready, _, _ = select.select([near, far], [], [], _LOOK_SECONDS)
            if near in ready and not _passed_on(near, far):
                return
            if far in ready and not _passed_on(far, near):
                return


def _passed_on(source: socket.socket, target: socket.socket) -> bool:
    """Pass on the bytes that have come; false at their end."""
    while data := source.recv(_PIECE):
        target.sendall(data)
        # What is decrypted already, no one is told of again.
        if not (isinstance(source, ssl.SSLSocket) and source.pending()):
            return True
    return False


@cache
def _certificate() -> Path:
    """Return a certificate of this machine's own, with its key beside it."""
    openssl = shutil.which("openssl")
    assert openssl is not None, "openssl is needed to make a certificate"
    folder = Path(_folder().name)
    subprocess.run(  # noqa: S603 - our own words
        [
            *(openssl, "req", "-x509", "-newkey", "ec"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", "/CN=stub", "-addext", f"subjectAltName=IP:{HOST}"),
            *("-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder / "cert.pem"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is removed when this process ends."""
    return tempfile.TemporaryDirectory(prefix="kit-tls-")
