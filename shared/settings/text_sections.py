"""How texts are read before anything of them is known: by their source and tenant."""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field

from shared.settings.sections import Section

# `de_DE`, `de-DE.UTF-8`, `de`.
_LOCALE = re.compile(r"([a-z]{2})(?:[_-]([A-Z]{2}))?(?:\.[A-Za-z0-9-]{1,20})?")
# What is written before decimals, by language, and where a territory differs from it.
_WITH_COMMA = (
    "bg ca cs da de el es et eu fi fr hr hu id is it lt lv nb nl nn no pl pt ro ru sk "
    "sl sr sv tr uk vi"
)
_WITH_POINT = "cy en ga he hi ja ko ms th zh"
_NOT_AS_THEIR_LANGUAGE = (
    "de_CH de_LI en_ZA es_CU es_DO es_GT es_HN es_MX es_NI es_PA es_PE es_PR es_SV "
    "es_US it_CH"
)
_COMMA, _POINT = frozenset(_WITH_COMMA.split()), frozenset(_WITH_POINT.split())
_OTHERWISE = frozenset(_NOT_AS_THEIR_LANGUAGE.split())


class AnalyserSettings(Section):
    """How texts and questions become terms."""

    facility_file: Path | None = None
    """The facility's own names, abbreviations and compounds, as YAML; the same for
    every process."""
    language: str | None = Field(None, pattern=r"^[a-z]{2}$")
    """What language a text is in that is too short to tell, where its source and tenant
    say nothing; none: en, and for vectors the model's own."""


def decimal_mark(locale: str) -> Literal[".", ","]:
    """Return the decimal mark of a locale such as de_CH, or raise ValueError."""
    match = _LOCALE.fullmatch(locale)
    if match is None or match[1] not in _COMMA | _POINT:
        message = f"{locale!r} is no locale that is known here, such as de_DE or en_US"
        raise ValueError(message)
    is_other = f"{match[1]}_{match[2]}" in _OTHERWISE
    return "," if (match[1] in _COMMA) != is_other else "."
