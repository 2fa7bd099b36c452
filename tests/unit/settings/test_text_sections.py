"""What is expected of texts before they are read: by source, tenant and facility."""

import pytest

from shared.errors import ConfigurationError
from shared.settings.settings import Settings
from shared.settings.text_expectations import Expected, find_expectations
from shared.settings.text_sections import decimal_mark


@pytest.mark.requirement("U19")
@pytest.mark.parametrize(
    ("locale", "mark"),
    [
        *[("de_DE", ","), ("de-DE", ","), ("de", ","), ("de_DE.UTF-8", ",")],
        *[
            ("fr_FR", ","),
            ("fr_CH", ","),
            ("es_ES", ","),
            ("it_IT", ","),
            ("pl_PL", ","),
        ],
        *[("en_US", "."), ("en", "."), ("ja_JP", "."), ("zh_CN", ".")],
        *[("de_CH", "."), ("it_CH", "."), ("es_MX", "."), ("en_ZA", ",")],
    ],
)
def test_a_locale_says_what_stands_before_decimals(locale: str, mark: str) -> None:
    assert decimal_mark(locale) == mark


@pytest.mark.parametrize("locale", ["C", "german", "xx_XX", "de_de", "de_DE_x"])
def test_a_locale_that_nobody_knows_is_refused(locale: str) -> None:
    with pytest.raises(ConfigurationError, match="no locale that is known here"):
        Settings.load({"LOGCHORD_SOURCES__API__LOCALE": locale})


def test_a_source_tells_before_its_tenant_and_the_tenant_before_the_facility() -> None:
    settings = Settings.load(
        {
            "LOGCHORD_ANALYSER__LANGUAGE": "it",
            "LOGCHORD_TENANTS__PSI__LANGUAGE": "de",
            "LOGCHORD_SOURCES__BOOK__LANGUAGE": "fr",
            "LOGCHORD_SOURCES__BOOK__LOCALE": "fr_CH",
            "LOGCHORD_SOURCES__SHIFTS__TENANT": "psi",
        }
    )
    assert find_expectations(settings, "book", "psi") == Expected("fr", ",")
    assert find_expectations(settings, "shifts", "psi") == Expected("de")
    assert find_expectations(settings, "api", "psi") == Expected("de")
    assert find_expectations(settings, "api", "default") == Expected("it")
    assert find_expectations(Settings.load({}), "api", "default") == Expected()


@pytest.mark.parametrize("language", ["german", "DE", "d"])
def test_a_language_of_last_resort_has_two_letters(language: str) -> None:
    with pytest.raises(ConfigurationError, match="LANGUAGE"):
        Settings.load({"LOGCHORD_ANALYSER__LANGUAGE": language})
