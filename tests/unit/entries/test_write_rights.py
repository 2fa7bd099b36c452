"""What a key of some logbooks may write."""

import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving import write_rights
from shared.errors import AccessError


@pytest.mark.requirement("SEC2")
@pytest.mark.parametrize("logbooks", [(), ("ops",)])
@pytest.mark.parametrize("written", [(), ("rf",), ("ops", "rf")])
def test_a_key_of_some_logbooks_writes_to_no_other(logbooks, written) -> None:
    scope = Scope(tenant="t", subject="s", logbooks=logbooks)
    with pytest.raises(AccessError) as caught:
        write_rights.check(scope, EntryDraft("api", "1", "x", logbooks=written))
    assert caught.value.error_code == "scope_missing"
