"""Secrets are found by their names, and are seen nowhere."""

import pytest
from structlog.testing import capture_logs

from shared.errors import ConfigurationError
from shared.http import request
from shared.http.secrets import Secrets
from shared.settings.source_sections import SourceAuth

VALUE = "s3cret-w0rd"


def test_a_variable_comes_before_a_file(tmp_path):
    path = tmp_path / "secret"
    path.write_text(f"{VALUE}\n", encoding="utf-8")
    path.chmod(0o600)
    assert Secrets("ring", {str(path): "x"}).read(str(path)) == "x"
    assert Secrets("ring", {}).read(str(path)) == VALUE
    assert Secrets("ring", {"RING": VALUE}).read("RING") == VALUE


def test_a_file_that_everybody_may_read_is_warned_of(tmp_path):
    path = tmp_path / "secret"
    path.write_text(VALUE, encoding="utf-8")
    path.chmod(0o644)
    with capture_logs() as logs:
        Secrets("ring", {}).read(str(path))
    assert [line["event"] for line in logs] == ["secret_readable_by_all"]
    assert VALUE not in str(logs)


def test_a_secret_that_is_not_there_is_named(tmp_path):
    for name in ("RING_PASSWORD", str(tmp_path / "none"), "secret"):
        with pytest.raises(ConfigurationError) as caught:
            Secrets("ring", {"secret": ""}).read(name)
        assert name in caught.value.message or "***" in caught.value.message


@pytest.mark.parametrize("value", [f"{VALUE}\nInjected: 1", f"{VALUE}\0"])
def test_a_secret_of_several_lines_is_refused_and_not_shown(value):
    with pytest.raises(ConfigurationError) as caught:
        Secrets("ring", {"RING": value}).read("RING")
    assert VALUE not in str(caught.value.body())


def test_a_folder_is_no_secret(tmp_path):
    with pytest.raises(ConfigurationError):
        Secrets("ring", {}).read(str(tmp_path))


@pytest.mark.parametrize(
    ("auth", "headers"),
    [
        ({"kind": "none"}, {}),
        ({"kind": "signature", "secret": "RING"}, {}),
        (
            {"kind": "basic", "user": "us\u00e9r", "secret": "RING"},
            {"Authorization": "Basic dXPDqXI6czNjcmV0LXcwcmQ="},
        ),
        ({"kind": "bearer", "secret": "RING"}, {"Authorization": f"Bearer {VALUE}"}),
        ({"kind": "header", "header": "X-Key", "secret": "RING"}, {"X-Key": VALUE}),
        (
            {"kind": "cookie", "cookies": {"upwd": "RING", "unm": "NAME"}},
            {"Cookie": f"unm=me; upwd={VALUE}"},
        ),
    ],
)
def test_each_kind_of_login_becomes_its_header(auth, headers):
    secrets = Secrets("ring", {"RING": VALUE, "NAME": "me"})
    assert request.login_headers(SourceAuth(**auth), secrets) == headers


@pytest.mark.parametrize(
    "auth",
    [
        {"kind": "basic", "secret": "RING"},
        {"kind": "bearer"},
        {"kind": "header", "secret": "RING"},
    ],
)
def test_a_login_that_lacks_something_says_what(auth):
    with pytest.raises(ConfigurationError) as caught:
        request.login_headers(SourceAuth(**auth), Secrets("ring", {"RING": VALUE}))
    assert caught.value.config_key
