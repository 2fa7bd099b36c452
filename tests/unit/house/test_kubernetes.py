"""The manifests of Kubernetes, as far as they can be judged without a cluster."""

import json
import re
from pathlib import Path
from typing import Any

import flower.options
import jsonschema
import pytest
import yaml

from shared.settings import setting_names
from shared.settings.settings import Settings

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "compose" / "kubernetes"
SCHEMAS = ROOT / "tests" / "contract" / "kubernetes-schemas"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text("utf-8"))
DEFINITIONS = json.loads((SCHEMAS / "v1.37.0.json").read_text("utf-8"))
MANIFESTS: list[dict[str, Any]] = [
    document
    for name in KUSTOMIZATION["resources"]
    for document in yaml.safe_load_all((FOLDER / name).read_text("utf-8"))
]
# What the image's own environment says already, and what Python and Flower read.
FLOWERS = {
    f"FLOWER_{name.replace('-', '_').upper()}"
    for name in flower.options.default_options
}
FOREIGN = {"PYTHONUNBUFFERED"}


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in MANIFESTS if one["kind"] == kind}


DEPLOYMENTS = of_kind("Deployment")
SERVICES = of_kind("Service")
CONFIG = of_kind("ConfigMap")["logchord"]["data"]


def container_of(manifest: dict[str, Any]) -> dict[str, Any]:
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found


def pods() -> dict[str, dict[str, Any]]:
    found = {**DEPLOYMENTS, **of_kind("Job")}
    return {name: one["spec"]["template"]["spec"] for name, one in found.items()}


def definition_of(manifest: dict[str, Any]) -> str:
    group, _, version = manifest["apiVersion"].rpartition("/")
    wanted = {"group": group, "version": version, "kind": manifest["kind"]}
    (name,) = (
        name
        for name, one in DEFINITIONS["$defs"].items()
        if wanted in one.get("x-kubernetes-group-version-kind", ())
    )
    return str(name)


@pytest.mark.parametrize(
    "manifest", MANIFESTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}"
)
def test_each_manifest_keeps_to_the_schema_of_its_kind(manifest: dict[str, Any]):
    schema = {**DEFINITIONS, "$ref": f"#/$defs/{definition_of(manifest)}"}
    found = jsonschema.Draft202012Validator(schema).iter_errors(manifest)
    assert [f"{list(one.path)}: {one.message}" for one in found] == []


def test_the_schemas_refuse_what_is_wrong_and_have_their_licence():
    wrong = json.loads(json.dumps(DEPLOYMENTS["api"]))
    wrong["spec"]["replicas"] = "two"
    schema = {**DEFINITIONS, "$ref": f"#/$defs/{definition_of(wrong)}"}
    assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)
    misspelt = json.loads(json.dumps(DEPLOYMENTS["api"]))
    misspelt["spec"]["replica"] = 2
    assert not jsonschema.Draft202012Validator(schema).is_valid(misspelt)
    assert "Apache License" in (SCHEMAS / "LICENSE").read_text("utf-8")


def test_every_file_of_the_folder_is_applied():
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert files == set(KUSTOMIZATION["resources"])


def test_each_process_of_the_procfile_is_a_deployment_with_the_same_command():
    lines = (ROOT / "Procfile").read_text("utf-8").splitlines()
    named = [line.split(": ", 1) for line in lines if line.strip()]
    kinds = [re.sub(r"-\d+$", "", name) for name, _ in named]
    assert set(kinds) == set(DEPLOYMENTS)
    for kind, (_, command) in zip(kinds, named, strict=True):
        container = container_of(DEPLOYMENTS[kind])
        started = container.get("command", ["logchord", *container.get("args", ())])
        assert " ".join(started).endswith(command), kind
        assert DEPLOYMENTS[kind]["spec"]["replicas"] >= kinds.count(kind)


@pytest.mark.requirement("S1-110", "S1-111", "S1-112", "S1-113")
def test_the_web_service_has_two_replicas_a_label_a_tag_and_limits():
    api = DEPLOYMENTS["api"]
    version = re.search(
        r'^version = "(.+)"$',
        (ROOT / "pyproject.toml").read_text("utf-8"),
        re.MULTILINE,
    )
    assert version
    assert api["spec"]["replicas"] == 2
    assert api["metadata"]["labels"]["app"] == "logchord"
    assert container_of(api)["image"] == f"logchord/logchord:{version[1]}"
    assert KUSTOMIZATION["images"][0]["newTag"] == version[1]
    for name, one in DEPLOYMENTS.items():
        assert container_of(one)["resources"] == {
            "requests": {"memory": "512Mi", "cpu": "250m"},
            "limits": {"memory": "2Gi", "cpu": "1000m"},
        }, name


@pytest.mark.requirement("S1-114", "S1-115")
def test_liveness_and_readiness_ask_what_the_contract_says():
    api = container_of(DEPLOYMENTS["api"])
    live, ready = api["livenessProbe"], api["readinessProbe"]
    assert live["httpGet"] == {"path": "/health/live", "port": "http"}
    assert (live["initialDelaySeconds"], live["periodSeconds"]) == (30, 10)
    assert ready["httpGet"] == {"path": "/health/ready", "port": "http"}
    assert (ready["initialDelaySeconds"], ready["periodSeconds"]) == (10, 5)
    port = CONFIG["LOGCHORD_METRICS_PORT"]
    for name, one in DEPLOYMENTS.items():
        probe = container_of(one)["livenessProbe"]
        if name not in {"api", "flower"}:
            assert f"127.0.0.1:{port}/metrics" in probe["exec"]["command"][-1], name


@pytest.mark.requirement("S1-116")
def test_services_are_reached_from_inside_alone_and_select_their_pods():
    assert set(SERVICES) == {"api", "flower"}
    for name, port in (("api", 8006), ("flower", 5555)):
        spec = SERVICES[name]["spec"]
        assert spec["type"] == "ClusterIP"
        assert spec["ports"] == [{"name": "http", "port": port, "targetPort": "http"}]
        (opened,) = container_of(DEPLOYMENTS[name])["ports"]
        assert opened == {"name": "http", "containerPort": port}
    for name, one in DEPLOYMENTS.items():
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels, name
        if name in SERVICES:
            assert SERVICES[name]["spec"]["selector"] == labels


@pytest.mark.requirement("S1-117")
def test_secrets_come_as_files_and_stand_in_no_manifest():
    generated = {one["name"]: one["files"] for one in KUSTOMIZATION["secretGenerator"]}
    assert generated["openai-credentials"] == ["secrets/openai-credentials/api-key"]
    kept = {Path(name).name for name in generated["logchord"]}
    for variable in ("DATABASE_URL_FILE", "BROKER_URL_FILE"):
        folder, _, name = CONFIG[variable].rpartition("/")
        assert folder == "/run/secrets/logchord"
        assert name in kept
    assert CONFIG["OPENAI_API_KEY_FILE"] == "/run/secrets/openai-credentials/api-key"
    text = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.yaml"))
    assert not re.search(r"://[^/\s]*:[^/\s]*@", text)
    assert "kind: Secret" not in text
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert "/compose/kubernetes/secrets/" in ignored


@pytest.mark.requirement("S1-108")
def test_no_process_is_root_or_can_write_its_image():
    for name, pod in pods().items():
        assert pod["securityContext"]["runAsUser"] == 1000, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name


def test_every_volume_that_is_mounted_is_there():
    claims = of_kind("PersistentVolumeClaim")
    secrets = {one["name"] for one in KUSTOMIZATION["secretGenerator"]}
    for name, pod in pods().items():
        (container,) = pod["containers"]
        volumes = {one["name"]: one for one in pod["volumes"]}
        assert {one["name"] for one in container["volumeMounts"]} == set(volumes), name
        for one in volumes.values():
            if "persistentVolumeClaim" in one:
                assert one["persistentVolumeClaim"]["claimName"] in claims
            if "secret" in one:
                assert one["secret"]["secretName"] in secrets


def environment_of(name: str) -> dict[str, str]:
    """Return what the container of a pod is told; secrets are files of its volumes."""
    (container,) = pods()[name]["containers"]
    assert container["envFrom"] == [{"configMapRef": {"name": "logchord"}}], name
    own = {one["name"]: one["value"] for one in container.get("env", ())}
    return {**CONFIG, **own}


@pytest.mark.parametrize("name", pods())
def test_each_container_is_told_only_what_is_read_and_is_asked_where_it_listens(
    name: str, tmp_path: Path
):
    for file, value in (
        ("database_url", "postgresql://logchord@there/logchord"),
        ("broker_url", "redis://there:6379/0"),
        ("api-key", "sk-test"),
    ):
        (tmp_path / file).write_text(value, "utf-8")
    environ = {
        key: f"{tmp_path}/{value.rpartition('/')[2]}"
        if key.endswith("_FILE")
        else value
        for key, value in environment_of(name).items()
    }
    known = {setting_names.environment_name(one) for one in Settings.model_fields}
    known |= {f"LOGCHORD_{one.upper()}" for one in Settings.model_fields}
    known |= {*setting_names.ENVIRONMENT_ALIASES, *FOREIGN}
    if name == "flower":
        known |= FLOWERS
    assert {key.removesuffix("_FILE").partition("__")[0] for key in environ} <= known

    settings = Settings.load(environ)
    assert settings.database_url
    assert settings.broker_url
    assert settings.metrics_port == 9100
    listens = {"api": settings.port, "flower": settings.flower_port}
    (container,) = pods()[name]["containers"]
    opened = {one["name"]: one["containerPort"] for one in container.get("ports", ())}
    probes = [container[key] for key in container if key.endswith("Probe")]
    assert probes or name == "migrate"
    for probe in probes:
        if "exec" in probe:
            asked = re.search(r"127\.0\.0\.1:(\d+)", probe["exec"]["command"][-1])
            assert asked
            assert int(asked[1]) == settings.metrics_port
        else:
            kind = probe.get("httpGet") or probe["tcpSocket"]
            assert opened[kind["port"]] == listens[name]
