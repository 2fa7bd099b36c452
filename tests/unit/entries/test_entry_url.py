"""A link to an entry opens a page, and runs nothing in whoever follows it."""

import pytest

from api.entries.schemas.entries import EntryIn
from shared.entries import entry_url
from shared.entries.saving.validate import PushRules
from shared.errors import InvalidRequestError
from shared.settings.settings import Settings


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)"),
        *("java\tscript:alert(1)", "\x01javascript:alert(1)", "data:text/html,x"),
        *("vbscript:x", "blob:https://a/1", "file:///etc/passwd", "view-source:x"),
    ],
)
def test_a_scheme_that_runs_or_reads_here_is_not_safe(url: str) -> None:
    assert not entry_url.is_safe(url)


@pytest.mark.parametrize(
    "url",
    [
        *("https://log.example.org/e/77?a=b:c", "HTTP://a", "ftp://a/b", "//a/b"),
        *("/e/77", "R-1", "", "a/b:c", "?q=javascript:x"),
    ],
)
def test_an_address_of_a_page_is_safe(url: str) -> None:
    assert entry_url.is_safe(url)


def test_a_push_with_such_an_address_is_refused() -> None:
    rules = PushRules(Settings.load({}))
    fields = {"text": "beam", "url": "javascript:alert(1)"}
    with pytest.raises(InvalidRequestError) as caught:
        rules.draft(EntryIn.model_validate(fields).model_dump(), "")
    assert caught.value.error_code == "url_not_allowed"
    (field,) = caught.value.details["fields"]
    assert (field["path"], caught.value.status) == ("url", 422)
    fields["url"] = "https://log.example.org/e/77"
    made = rules.draft(EntryIn.model_validate(fields).model_dump(), "")
    assert made.url == fields["url"]
