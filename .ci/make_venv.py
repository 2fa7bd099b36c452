"""Make .venv from the locks, every file by its hash; quick when nothing changed."""

import ast
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import ssl
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "made-from"
# Where `logchord bundle` has put every package: then no index is asked.
BUNDLED = ROOT / "bundled"
UV_LOCK = "requirements-uv.txt"
LOCKS = ("requirements-dev.txt", "requirements-model.txt")

# What uv calls the settings of pip that say where packages come from.
UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def main() -> int:
    """Bring .venv to what the locks say; running it twice equals running it once."""
    wanted = _fingerprint()
    if _is_made_from(wanted):
        print("setup: .venv is what the locks say")
        return 0
    if importlib.util.find_spec("ensurepip") is None:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        print(
            f"setup: {sys.executable} has no ensurepip and cannot make a virtual"
            f" environment. Install it (`apt install {version}-venv` on Debian and"
            " Ubuntu), then run `make setup` again.",
            file=sys.stderr,
        )
        return 2
    STAMP.unlink(missing_ok=True)
    try:
        _make()
    except subprocess.CalledProcessError as exc:
        command = " ".join(str(part) for part in exc.cmd)
        print(f"setup: `{command}` ended with {exc.returncode}", file=sys.stderr)
        if BUNDLED.is_dir():
            print(
                f"setup: the packages in {BUNDLED} are for the processor and the Python"
                f" that they were bundled with; this is Python {sys.version.split()[0]}"
                f" on {platform.machine()}. Make a bundle with the same, or choose"
                " another Python here: make PYTHON=python3.12 setup",
                file=sys.stderr,
            )
        return 1
    STAMP.write_text(wanted, encoding="utf-8")
    return 0


def _fingerprint() -> str:
    digest = hashlib.sha256(f"{sys.version} {ROOT}".encode())
    for name in (UV_LOCK, *LOCKS, ".ci/make_venv.py"):
        digest.update(name.encode())
        digest.update((ROOT / name).read_bytes())
    # Only what an installation depends on: the tools read their own sections afresh.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    installed = [project.get(name) for name in ("build-system", "project")]
    digest.update(
        json.dumps([*installed, project.get("tool", {}).get("hatch")]).encode()
    )
    return digest.hexdigest()


def _is_made_from(wanted: str) -> bool:
    # The command is looked at too: a half deleted .venv must not pass for a whole.
    if not STAMP.is_file() or not _runs("python") or not _script("logchord").is_file():
        return False
    return STAMP.read_text(encoding="utf-8") == wanted


def _make() -> None:
    if not _runs("python"):
        print(f"setup: making .venv with Python {sys.version.split()[0]}")
        venv.create(VENV, clear=VENV.exists(), symlinks=True, with_pip=True)
    python = str(_script("python"))
    environ = _with_system_certificates(dict(os.environ))
    alone = ["--no-index", "--find-links", str(BUNDLED)] if BUNDLED.is_dir() else []
    if not _has_pinned_uv():
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
        _run([*pip, *alone, "--quiet", "--require-hashes", "-r", UV_LOCK], environ)
    environ = _as_uv_reads_it(python, environ)
    uv = [str(_script("uv")), "pip"]
    here = ["--python", python, *alone]
    _run([*uv, "sync", *here, "--require-hashes", *LOCKS], environ)
    editable = ["--no-deps", "--no-build-isolation", "--editable", "."]
    _run([*uv, "install", "--quiet", *here, *editable], environ)


def _with_system_certificates(environ: dict[str, str]) -> dict[str, str]:
    """Let an older pip, which brings its own list, trust what the system trusts."""
    system = ssl.get_default_verify_paths().cafile
    if system and not {"PIP_CERT", "REQUESTS_CA_BUNDLE"} & set(environ):
        environ["PIP_CERT"] = system
    environ.setdefault("UV_SYSTEM_CERTS", "true")
    return environ


def _as_uv_reads_it(python: str, environ: dict[str, str]) -> dict[str, str]:
    """Hand uv the index and folders that pip is configured with; it reads neither."""
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"],
        env=environ,
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout
    for line in listed.splitlines():
        name, _, quoted = line.partition("=")
        option = name.rpartition(".")[2]
        if option not in UV_NAMES:
            continue
        values = str(ast.literal_eval(quoted)).split()
        if option == "find-links":
            # Where pip only warns of a folder that is absent, uv gives up.
            values = [v for v in values if "://" in v or Path(v).is_dir()]
        if values:
            joint = "," if option == "find-links" else " "
            environ.setdefault(UV_NAMES[option], joint.join(values))
    return environ


def _has_pinned_uv() -> bool:
    if not _runs("uv"):
        return False
    found = subprocess.run(
        [_script("uv"), "--version"], check=True, capture_output=True, text=True
    ).stdout.split()[1]
    return f"uv=={found} " in (ROOT / UV_LOCK).read_text(encoding="utf-8")


def _script(name: str) -> Path:
    return VENV / "bin" / name


def _runs(name: str) -> bool:
    """Return whether a command of .venv is there and its interpreter still is."""
    return shutil.which(str(_script(name))) is not None


def _run(argv: list[str], environ: dict[str, str]) -> None:
    subprocess.run(argv, env=environ, check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
