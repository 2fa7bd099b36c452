"""Certificates of a source are trusted by the system or by `ca_file`, or not at all."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from shared.errors import ConfigurationError, IngestionError, SourceUnreachableError
from shared.settings.source_sections import SourceSettings
from shared.sources.adapter_io import make_io
from tests.support.certificates import make_certificate
from tests.support.stub_servers.raw_http import http, raw_server

OK = http("200 OK", b"safe")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """A certificate of our own for `localhost`, with its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@contextmanager
def tls_server(certificate: Path) -> Iterator[int]:
    """Answers each connection once, within TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    ending = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)

        def serve() -> None:
            while not ending.is_set():
                # A client that trusts nobody hangs up in the middle of it.
                with suppress(OSError):
                    plain, _ = listener.accept()
                    plain.settimeout(5)
                    with context.wrap_socket(plain, server_side=True) as conn:
                        conn.recv(65_536)
                        conn.sendall(OK)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        ending.set()
        thread.join(10)


@contextmanager
def tunnelling(*, to: int, is_socks: bool) -> Iterator[tuple[int, list[bytes]]]:
    """A proxy that connects to one port, whatever it is asked for, and notes that."""
    wanted: list[bytes] = []

    def passed_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            conn, _ = listener.accept()
            with conn, socket.create_connection(("127.0.0.1", to)) as behind:
                if is_socks:
                    wanted.append(conn.recv(3))
                    conn.sendall(b"\x05\x00")
                    wanted.append(conn.recv(300))
                    conn.sendall(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
                else:
                    wanted.append(conn.recv(65_536))
                    conn.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                back = threading.Thread(target=passed_on, args=(behind, conn))
                back.start()
                passed_on(conn, behind)
                back.join(10)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], wanted
        thread.join(10)


def asked(port: int, host: str = "localhost", **settings):
    url = f"https://{host}:{port}/"
    quick = {"adapter": "olog", "base_url": url, "max_retries": 0}
    rules = SourceSettings(**{**quick, **settings})
    lookup = lambda _host, _port: ["127.0.0.1"]  # noqa: E731
    with make_io("ring", rules, lookup=lookup) as io:
        return io.http.get(url)


def test_a_private_authority_is_trusted_where_the_settings_name_it(certificate):
    with tls_server(certificate) as port:
        assert asked(port, ca_file=str(certificate)).body == b"safe"


def test_a_proxy_connects_to_the_name_and_sees_nothing_more(certificate):
    ca_file = str(certificate)
    with (
        tls_server(certificate) as port,
        tunnelling(to=port, is_socks=False) as (proxy, wanted),
    ):
        reply = asked(443, ca_file=ca_file, proxy=f"http://127.0.0.1:{proxy}")
        assert reply.body == b"safe"
    assert wanted[0].startswith(b"CONNECT localhost:443 HTTP/1.1\r\n")
    with (
        tls_server(certificate) as port,
        tunnelling(to=port, is_socks=True) as (proxy, wanted),
    ):
        reply = asked(443, ca_file=ca_file, proxy=f"socks5h://127.0.0.1:{proxy}")
        assert reply.body == b"safe"
    assert wanted == [b"\x05\x01\x00", b"\x05\x01\x00\x03\x09localhost\x01\xbb"]


@pytest.mark.parametrize(
    "says", [b"\x05\xff", b"\x04\x00", b"\x05\x00\x05\x05\x00\x01", b"\x05", b""]
)
def test_a_socks_proxy_that_refuses_is_an_outage(says):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            conn, _ = listener.accept()
            with conn:
                conn.recv(3)
                conn.sendall(says)
                conn.settimeout(5)
                # Whatever it is asked next, it has said everything.
                conn.recv(300) if len(says) > 2 else None

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        with pytest.raises(SourceUnreachableError) as caught:
            asked(443, proxy=f"socks5://127.0.0.1:{port}")
        thread.join(10)
    assert caught.value.reason in {"proxy", "half_body"}


def test_a_certificate_that_nobody_vouches_for_is_critical(certificate):
    with tls_server(certificate) as port:
        with pytest.raises(IngestionError) as caught:
            asked(port, max_retries=3)
        assert not isinstance(caught.value, SourceUnreachableError)
        assert (caught.value.reason, caught.value.retriable) == ("tls", False)
        assert "`ca_file`" in caught.value.message


def test_a_certificate_of_another_name_is_critical(certificate):
    with tls_server(certificate) as port:
        with pytest.raises(IngestionError) as caught:
            asked(port, host="other.localhost", ca_file=str(certificate))
        assert caught.value.reason == "tls"
        assert "other.localhost is for another name" in caught.value.message


def test_a_server_that_speaks_no_tls_is_critical(certificate):
    def plain(conn: socket.socket, _head: bytes) -> None:
        conn.sendall(OK)

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            conn, _ = listener.accept()
            with conn:
                conn.recv(1000)
                plain(conn, b"")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with pytest.raises(IngestionError) as caught:
            asked(listener.getsockname()[1])
        thread.join(10)
    assert caught.value.reason == "tls"
    assert "check whether `base_url` begins with http://" in caught.value.message


def test_a_server_that_hangs_up_within_the_handshake_is_an_outage():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            conn, _ = listener.accept()
            conn.recv(1000)
            conn.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with pytest.raises(SourceUnreachableError):
            asked(listener.getsockname()[1])
        thread.join(10)


def test_an_authority_that_cannot_be_read_is_a_wrong_setting(tmp_path):
    (tmp_path / "none.pem").write_text("no certificate", encoding="utf-8")
    for path in (tmp_path / "none.pem", tmp_path / "missing.pem"):
        with raw_server(OK) as server, pytest.raises(ConfigurationError) as caught:
            asked(server.port, ca_file=str(path))
        assert caught.value.config_key == "sources.ring.ca_file"
