"""Other people on this machine, whom OpenSearch has no login to keep out."""

import os
import pwd
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from api.cli.output import Output
from api.cli.stack.starting import Start
from local import neighbours
from local.stack import OFF
from shared.settings.settings import Settings
from tests.support.waiting import until


@pytest.fixture
def person() -> pwd.struct_passwd:
    """Give somebody who could log in on this machine."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user")
    for account in pwd.getpwall():
        if neighbours._is_person(account.pw_uid):
            return account
    pytest.skip("nobody but root can log in on this machine")


@pytest.fixture
def working(person: pwd.struct_passwd) -> Iterator[psutil.Process]:
    """Give a process of theirs."""
    child = subprocess.Popen(
        ["setpriv", f"--reuid={person.pw_uid}", "--clear-groups", "sleep", "60"]
    )
    yield psutil.Process(child.pid)
    child.kill()
    child.wait()


# It looks at every process of the machine, and others look at its own.
@pytest.mark.alone
def test_another_person_with_a_process_is_a_neighbour(person, working) -> None:
    def names() -> list[str]:
        return [other.user for other in neighbours.others()]

    until(lambda: person.pw_name in names(), within_seconds=5)
    assert person.pw_name in neighbours.describe_neighbours(neighbours.others())
    assert not [o for o in neighbours.others(person.pw_uid) if o.user == person.pw_name]
    working.kill()


@pytest.mark.alone
@pytest.mark.requirement("U32")
def test_beside_another_person_opensearch_starts_only_where_settings_say_so(
    person, working, tmp_path, capsys
) -> None:
    def engine(**more: str) -> str | None:
        given = {"LOGCHORD_HOME": str(tmp_path), **more}
        start = Start(Output(color=False), given, demo=False, echo=False)
        return start._given(Settings.load(given, with_stack=False)).opensearch_url

    until(lambda: engine() == OFF, within_seconds=5)
    told = capsys.readouterr().err
    assert person.pw_name in told
    assert "LOGCHORD_ALLOW_SHARED_HOST=true" in told
    assert engine(LOGCHORD_ALLOW_SHARED_HOST="true") is None
    assert capsys.readouterr().err == ""
    working.kill()


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false", "/bin/sync", ""])
def test_who_cannot_log_in_is_nobody_to_fear(shell: str) -> None:
    assert not neighbours._is_login_shell(shell)


@pytest.mark.parametrize("uid", [0, 999, 65534, 3_999_999])
def test_system_users_nobody_and_unknown_users_are_no_persons(uid: int) -> None:
    assert not neighbours._is_person(uid)
