"""Answers in JSON, made in one place."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Response


def as_json(
    body: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with a body that holds nothing but what JSON has."""
    return Response(
        json.dumps(body), status, media_type="application/json", headers=headers
    )
