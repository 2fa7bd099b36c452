"""Audit the locked dependencies for known vulnerabilities: "audited A of B"."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-dev.txt"
# How requests names what a missing network does; anything else is a failure of ours.
NO_NETWORK = ("ConnectionError", "ConnectTimeout", "ProxyError", "ReadTimeout")
# Neither passed nor failed; `check.py` counts it as neither.
NOT_POSSIBLE = 75


def main(lock: Path = LOCK, *options: str) -> int:
    """Print how much of a lock could be audited; 1 on a finding."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pip_audit", "--requirement", str(lock),
            "--disable-pip", "--require-hashes", "--format", "json",
            "--vulnerability-service", "osv", "--progress-spinner", "off", *options,
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except json.JSONDecodeError:
        return _without_answer(lock, done.stderr)
    audited = [one for one in dependencies if "skip_reason" not in one]
    findings = [
        f"{one['name']} {one['version']}: {found['id']}"
        f" (fixed in {', '.join(found['fix_versions']) or 'no version yet'})"
        for one in audited
        for found in one["vulns"]
    ]
    for line in findings:
        print(line)
    print(f"audited {len(audited)} of {len(dependencies)}")
    if not audited:
        return NOT_POSSIBLE
    return 1 if findings else 0


def _without_answer(lock: Path, said: str) -> int:
    reason = next((word for word in NO_NETWORK if word in said), None)
    if reason is None:
        print(said)
        return 1
    text = lock.read_text(encoding="utf-8")
    pins = len(re.findall(r"^[\w.-]+==", text, re.MULTILINE))
    print(f"audited 0 of {pins}: not possible here ({reason})")
    return NOT_POSSIBLE


if __name__ == "__main__":
    sys.exit(main())
