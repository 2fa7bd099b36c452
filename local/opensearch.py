"""OpenSearch, the real server, on the unpacked distribution in the cache.

Many homes share one distribution; each has its configuration, data and logs.
"""

import http.client
import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from local import fetch, java, service_user
from local.server import HOST, EmbeddedServer, StackFolders

_DEFAULT_HEAP_MB = 512

# Compiling what runs a few times costs half the CPU of a start (two cores, a loaded
# machine: 23 to 28 s of CPU, with these 14 to 18); what is truly hot still gets there.
PATIENT_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
# For tests, where the start is all that counts: 11 to 13 s of CPU, slower searches.
QUICK_START = "-XX:TieredStopAtLevel=1"

# Absolute watermarks: on a large disk that is nearly full, shares of it would
# block every index while gigabytes are free.
_DISK = "cluster.routing.allocation.disk.watermark"
_SETTINGS = {
    "cluster.name": "logchord",
    "discovery.type": "single-node",
    "network.host": HOST,
    "transport.port": "0",
    "action.auto_create_index": "false",
    f"{_DISK}.low": "1gb",
    f"{_DISK}.high": "500mb",
    f"{_DISK}.flood_stage": "250mb",
}

# The shell hands on what stands there, and cuts it at each blank.
_OF_TEMPORARY = "-Djava.io.tmpdir=${OPENSEARCH_TMPDIR}\n"

# To its output only, which is the one log file of every server here.
_LOG4J = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %marker %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


class EmbeddedOpenSearch(EmbeddedServer):
    """One OpenSearch node on loopback; it has no login."""

    name = "opensearch"
    title: ClassVar[str] = "OpenSearch"
    setting: ClassVar[str] = "OPENSEARCH_URL"
    stop_seconds: ClassVar[float] = 20
    min_free_bytes: ClassVar[int] = 500_000_000

    def __init__(
        self,
        place: StackFolders,
        port: int,
        heap_mb: int = _DEFAULT_HEAP_MB,
        settings: Mapping[str, str] | None = None,
        java_options: str = PATIENT_COMPILER,
    ) -> None:
        super().__init__(place, port)
        self._heap_mb = heap_mb
        self._settings = dict(settings or {})
        self._java_options = java_options
        self._java_home: Path | None = None

    @property
    def url(self) -> str:
        """The address, without a login."""
        return f"http://{HOST}:{self._port}"

    @property
    def _temporary(self) -> Path:
        return self.data_folder.with_name("opensearch-tmp")

    def _prepare(self) -> None:
        self._java_home = java.java_home()
        template = self._distribution()
        self.data_folder.mkdir(exist_ok=True, mode=0o700)
        service_user.own(self.data_folder)
        for folder in (self._temporary, self.config_folder):
            # Made anew by root: the server's own user may write in it afterwards.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
        options = (template / "config" / "jvm.options").read_text(encoding="utf-8")
        self._write("jvm.options", options.replace(_OF_TEMPORARY, ""))
        self._write("log4j2.properties", _LOG4J)
        self._write("opensearch.yml", self._configuration())
        made = [self._temporary, self.config_folder, *self.config_folder.iterdir()]
        for path in made:
            service_user.own(path)

    def _write(self, name: str, text: str) -> None:
        (self.config_folder / name).write_text(text, encoding="utf-8")

    def _configuration(self) -> str:
        ours = {"http.port": str(self._port), "path.logs": str(self._temporary)}
        # JSON is YAML, and quotes whatever a path may hold.
        return json.dumps({**_SETTINGS, **ours, **self._settings}, indent=2)

    def _distribution(self) -> Path:
        template = fetch.fetch_opensearch(self.place.cache, lambda *_: None)
        return service_user.shared_copy(template.name, template) / template.name

    def _command(self) -> list[str]:
        return [str(self._distribution() / "bin" / "opensearch"), self._marker()]

    def _marker(self) -> str:
        return f"-Epath.data={self.data_folder}"

    def _environment(self) -> Mapping[str, str]:
        heap = f"-Xms{self._heap_mb}m -Xmx{self._heap_mb}m"
        locales = "-Djava.locale.providers=SPI,CLDR"
        return {
            "OPENSEARCH_JAVA_HOME": str(self._java_home or java.java_home()),
            "OPENSEARCH_JAVA_OPTS": f"{heap} {locales} {self._java_options}",
            "OPENSEARCH_PATH_CONF": str(self.config_folder),
            "OPENSEARCH_TMPDIR": str(self._temporary),
            "JDK_JAVA_OPTIONS": shlex.quote(f"-Djava.io.tmpdir={self._temporary}"),
            "HOME": str(self._temporary),
        }

    def _answers(self) -> bool:
        link = http.client.HTTPConnection(HOST, self._port, timeout=5)
        try:
            link.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=2s")
            return link.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()
