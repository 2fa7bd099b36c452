"""Certificates of our own, which nobody else trusts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificate(folder: Path, host: str = "localhost") -> Path:
    """Write one for this host into the folder, with its key beside it as `key.pem`."""
    openssl = shutil.which("openssl")
    if openssl is None:
        if os.environ.get("CI"):
            pytest.fail("openssl is needed to make a certificate")
        pytest.skip("openssl is not to be had here")
    subprocess.run(
        [
            openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}",
            "-keyout", "key.pem", "-out", "cert.pem",
        ],
        cwd=folder, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return folder / "cert.pem"
