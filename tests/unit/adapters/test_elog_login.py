"""The cookie that logs in to an ELOG, against the vectors that SHA-crypt came with."""

import email.policy

import pytest

from workers.adapters.elog import login

_LONG = (
    "a very much longer text to encrypt.  This one even stretches over more"
    "than one line."
)


@pytest.mark.parametrize(
    ("password", "salt", "rounds", "expected"),
    [
        (
            "Hello world!",
            "saltstring",
            5000,
            "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
        ),
        (
            "Hello world!",
            "saltstringsaltst",
            10_000,
            "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
        ),
        (
            _LONG,
            "anotherlongsalts",
            1400,
            "Rx.j8H.h8HjEDGomFU8bDkXm3XIUnzyxf12oP84Bnq1",
        ),
    ],
)
def test_a_password_is_crypted_as_everywhere_else(password, salt, rounds, expected):
    found = login.crypted(password.encode(), salt.encode(), rounds)
    assert found == expected


def test_the_form_says_what_a_browser_would_whatever_the_password_holds() -> None:
    password = 'a "b"; ü\r\n--c--'

    media_type, body = login.form("operator", password)

    whole = f"Content-Type: {media_type}\r\n\r\n".encode() + body
    parts = email.message_from_bytes(whole, policy=email.policy.HTTP).iter_parts()
    said = {
        part.get_param("name", header="content-disposition"): part.get_payload(
            decode=True
        )
        for part in parts
    }
    assert said == {"uname": b"operator", "upassword": password.encode(), "redir": b""}


def test_the_cookies_name_the_user_and_hide_the_password() -> None:
    cookie = login.cookie("operator", "s3cret")
    user, password = cookie.split("; ")
    assert user == "unm=operator"
    assert password.startswith("upwd=")
    assert len(password) == len("upwd=") + 43
    assert "s3cret" not in cookie
