"""The compose file and the image, as far as they can be judged without an engine."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from api.cli import output
from local import runner
from shared.settings import setting_names
from shared.settings.settings import Settings

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "tests" / "contract" / "compose-spec" / "compose-spec.json"
DOCKERFILE = (ROOT / "compose" / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose" / "compose.yaml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
IMAGE = "logchord/logchord"
OURS = {name: one for name, one in SERVICES.items() if one["image"].startswith(IMAGE)}
# Read by Flower and by Python, not by us.
FOREIGN = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PATH", "HOME"}
UNITS = {"m": 1024**2, "g": 1024**3}


def image_environment() -> dict[str, str]:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2].replace("\\\n", " ")
    lines = re.findall(r"^ENV (.*)$", last_stage, re.MULTILINE)
    return dict(pair.split("=", 1) for line in lines for pair in line.split())


def number_of_bytes(size: str) -> int:
    return int(size[:-1]) * UNITS[size[-1]]


def limits_of(service: dict) -> tuple[float, int, float, int]:
    found = service["deploy"]["resources"]
    limits, reservations = found["limits"], found["reservations"]
    return (
        float(limits["cpus"]),
        number_of_bytes(limits["memory"]),
        float(reservations["cpus"]),
        number_of_bytes(reservations["memory"]),
    )


def test_the_file_keeps_to_the_compose_specification():
    schema = json.loads(SCHEMA.read_text("utf-8"))
    found = jsonschema.Draft202012Validator(schema).iter_errors(COMPOSE)
    assert [f"{list(one.path)}: {one.message}" for one in found] == []


def test_the_specification_is_kept_with_its_licence():
    assert "Apache License" in (SCHEMA.parent / "LICENSE").read_text("utf-8")


def test_every_reference_inside_the_file_is_defined():
    for name, service in SERVICES.items():
        for kind in ("networks", "volumes", "secrets"):
            for one in service.get(kind, ()):
                source = one["source"] if isinstance(one, dict) else one.split(":")[0]
                known = source.startswith("./") or source in COMPOSE[kind]
                assert known, f"{name} asks for the undefined {kind} {source}"
        for needed in service.get("depends_on", {}):
            assert needed in SERVICES, f"{name} waits for {needed}"


def test_what_a_service_waits_for_can_be_observed():
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[needed], f"{name} -> {needed}"
            else:
                assert SERVICES[needed]["restart"] == "no", f"{name} -> {needed}"


def test_each_process_of_the_procfile_is_a_service_with_the_same_command():
    lines = (ROOT / "Procfile").read_text("utf-8").splitlines()
    named = [line.split(": ", 1) for line in lines if line.strip()]
    # `search-2` is a second process of the same kind: a replica of the service.
    kinds = [re.sub(r"-\d+$", "", name) for name, _ in named]
    processes = dict(zip(kinds, (command for _, command in named), strict=True))
    assert set(processes) == set(OURS) - {"migrate"}
    for name in processes:
        replicas = OURS[name].get("deploy", {}).get("replicas", 1)
        assert replicas >= kinds.count(name), name
    for name, command in processes.items():
        entrypoint = OURS[name].get("entrypoint", ["logchord"])
        started = " ".join([entrypoint[-1], *OURS[name]["command"]])
        assert started.endswith(command), name


@pytest.mark.requirement("S1-106")
def test_the_image_is_made_from_the_slim_python():
    stages = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert stages == ["python:3.11-slim", "python:3.11-slim"]


@pytest.mark.requirement("S1-107")
def test_the_image_takes_every_dependency_by_its_hash_and_keeps_no_cache():
    assert "PIP_NO_CACHE_DIR=1" in DOCKERFILE
    assert "UV_NO_CACHE=1" in DOCKERFILE
    installs = re.findall(r"(?:pip install|pip sync)\b.*", DOCKERFILE)
    assert installs
    for line in installs:
        assert "--require-hashes" in line or "--build-constraints" in line, line


@pytest.mark.requirement("S1-107")
def test_the_models_are_made_when_the_image_is_built():
    built, _, run = DOCKERFILE.rpartition("\nFROM ")
    assert "load_encoder(name, Path('/app/cache'))" in built
    assert "for name in ('bge-small-en-v1.5', 'all-MiniLM-L6-v2')" in built
    assert "COPY --from=build --chown=1000:1000 /app /app" in run
    assert image_environment()["LOGCHORD_CACHE"] == "/app/cache"


@pytest.mark.requirement("S1-108")
def test_an_unprivileged_user_owns_the_application_folder():
    assert "useradd --uid 1000 --gid 1000" in DOCKERFILE
    assert "logchord\nCOPY --from=build --chown=1000:1000 /app /app" in DOCKERFILE
    assert re.search(r"^USER 1000:1000$", DOCKERFILE, re.MULTILINE)
    assert {service["user"] for service in OURS.values()} == {"1000:1000"}


def test_no_process_of_ours_can_write_its_image_or_gain_rights():
    for name, service in OURS.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["tmpfs"][0].startswith("/tmp:"), name
    assert image_environment()["LOGCHORD_HOME"].startswith("/tmp/")


@pytest.mark.requirement("S1-109")
def test_the_image_binds_its_port_on_every_address_of_the_container():
    assert re.search(r"^EXPOSE 8006$", DOCKERFILE, re.MULTILINE)
    environment = image_environment()
    assert environment["LOGCHORD_HOST"] == "0.0.0.0"
    assert environment["LOGCHORD_PORT"] == "8006"


@pytest.mark.requirement("S1-110", "S1-111", "S1-112", "S1-113")
def test_the_web_service_has_two_replicas_a_label_a_tag_and_limits():
    api = SERVICES["api"]
    assert api["deploy"]["replicas"] == 2
    assert api["labels"]["app"] == "logchord"
    version = re.search(
        r'^version = "(.+)"$',
        (ROOT / "pyproject.toml").read_text("utf-8"),
        re.MULTILINE,
    )
    assert version
    assert api["image"] == f"{IMAGE}:{version[1]}"
    assert limits_of(api) == (1.0, 2 * 1024**3, 0.25, 512 * 1024**2)


def test_every_process_and_server_is_limited():
    for name, service in SERVICES.items():
        if name != "gateway":
            assert limits_of(service) == limits_of(SERVICES["api"]), name


@pytest.mark.requirement("S1-114", "S1-115")
def test_liveness_and_readiness_ask_what_the_contract_says():
    live, ready = (SERVICES[name]["healthcheck"] for name in ("api", "gateway"))
    assert "/health/live" in " ".join(live["test"])
    assert (live["start_period"], live["interval"]) == ("30s", "10s")
    assert "/health/ready" in " ".join(ready["test"])
    assert (ready["start_period"], ready["interval"]) == ("10s", "5s")
    routing = (ROOT / "compose" / "haproxy.cfg").read_text("utf-8")
    assert "option httpchk GET /health/ready" in routing


@pytest.mark.requirement("S1-116")
def test_the_service_is_reached_from_inside_alone():
    api = SERVICES["api"]
    assert api["expose"] == ["8006"]
    assert "ports" not in api
    assert api["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True


def test_whoever_tells_of_alerts_and_problems_has_a_way_out():
    senders = [
        name
        for name, service in OURS.items()
        for queues in service["command"][-1:]
        if {"alert", "upkeep"} & {*queues.split(",")}
    ]
    assert senders == ["embed", "upkeep"]
    for name in senders:
        assert "outside" in SERVICES[name].get("networks", ()), name


def test_nothing_is_published_beyond_loopback():
    published = [
        one for service in SERVICES.values() for one in service.get("ports", ())
    ]
    assert sorted(published) == ["127.0.0.1:5555:5555", "127.0.0.1:8006:8006"]


@pytest.mark.requirement("S1-117")
def test_the_api_key_comes_as_a_file_from_its_secret():
    path = "/run/secrets/openai-credentials/api-key"
    for name, service in OURS.items():
        assert "env_file" not in service, name
        assert "OPENAI_API_KEY" not in service["environment"], name
    api = SERVICES["api"]
    assert api["environment"]["OPENAI_API_KEY_FILE"] == path
    assert {"source": "openai-credentials", "target": path} in api["secrets"]
    kept = COMPOSE["secrets"]["openai-credentials"]
    assert kept == {"file": "./secrets/openai-credentials/api-key"}


def test_no_secret_stands_in_the_file():
    text = (ROOT / "compose" / "compose.yaml").read_text("utf-8")
    assert not re.search(r"://[^/\s]*:[^/\s]*@", text)
    assert not re.search(r"(?i)password: *[^\s{]", text)
    assert all(set(one) == {"file"} for one in COMPOSE["secrets"].values())


@pytest.mark.requirement("S1-81")
def test_every_process_of_ours_writes_its_lines_at_once():
    for name, service in OURS.items():
        assert service["environment"]["PYTHONUNBUFFERED"] == "1", name
    # A Procfile has no place for it: who runs the Procfile sets it for every line.
    runner = (ROOT / "local" / "runner.py").read_text("utf-8")
    assert re.search(r'"?PYTHONUNBUFFERED"?\s*[:=]\s*"1"', runner)


@pytest.fixture
def made_secrets(tmp_path):
    """Secrets as the operator makes them, in a folder of the test's own."""
    script = shutil.copy(ROOT / "compose" / "make-secrets", tmp_path)
    subprocess.run([script], check=True, capture_output=True)
    return tmp_path / "secrets"


def test_the_settings_read_every_variable_of_every_service(made_secrets):
    known = {setting_names.environment_name(name) for name in Settings.model_fields}
    known |= {f"LOGCHORD_{name.upper()}" for name in Settings.model_fields}
    known |= set(setting_names.ENVIRONMENT_ALIASES)
    for name, service in OURS.items():
        environ = image_environment() | service["environment"]
        ours = {
            key: value.replace("/run/secrets", str(made_secrets))
            for key, value in environ.items()
            if key not in FOREIGN and not key.startswith("FLOWER_A")
        }
        # Of a section, the rest of the name is checked as it is loaded.
        sections = {key.removesuffix("_FILE").partition("__")[0] for key in ours}
        assert not sections - known, name
        settings = Settings.load(ours)
        assert settings.database_url
        assert settings.broker_url
        assert settings.host == "0.0.0.0"


def test_both_sides_are_given_the_same_passwords(made_secrets):
    def read(name):
        return (made_secrets / name).read_text("utf-8").strip()

    assert f":{read('postgres_password')}@postgres:5432/" in read("database_url")
    password = read("valkey.conf").removeprefix("requirepass ")
    assert read("broker_url") == f"redis://:{password}@valkey:6379/0"


def test_secrets_that_exist_are_kept(made_secrets):
    before = {
        path: path.read_bytes() for path in made_secrets.rglob("*") if path.is_file()
    }
    subprocess.run(
        [made_secrets.parent / "make-secrets"], check=True, capture_output=True
    )
    assert {path: path.read_bytes() for path in before} == before
    names = {
        Path(one["file"]).relative_to("secrets") for one in COMPOSE["secrets"].values()
    }
    assert {path.relative_to(made_secrets) for path in before} == names


def test_the_folder_of_secrets_is_closed_and_never_committed(made_secrets):
    assert made_secrets.stat().st_mode & 0o777 == 0o700
    assert "/compose/secrets/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_unit_of_systemd_leaves_a_stack_the_time_to_end() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(ROOT / "compose" / "logchord.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("/.venv/bin/logchord up")
    # Its children are ended by the runner, in order.
    assert service["KillMode"] == "mixed"
    # As it ends that is stopped while it starts.
    assert int(service["SuccessExitStatus"]) == output.INTERRUPTED
    # Behind them the servers end, each in its time.
    assert float(service["TimeoutStopSec"]) >= 4 * runner.STOP_SECONDS
