"""What whoever looks has chosen for their browser: dark or light, keys on or off."""

from typing import Annotated, Literal

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from api.web.page_route import page_router, place_of_ours

router = page_router()

_SECONDS = 365 * 86_400
Next = Annotated[str, Query(alias="next", max_length=8000)]


@router.get("/set")
def get_choice(
    request: Request,
    theme: Literal["dark", "light"] | None = None,
    keys: Literal["on", "off"] | None = None,
    back: Next = "/",
) -> Response:
    """Keep a choice in the browser, and go back."""
    base = request.app.state.settings.base_path
    answer = RedirectResponse(base + place_of_ours(back), 303)
    for name, value in (("theme", theme), ("keys", keys)):
        if value is not None:
            answer.set_cookie(
                *(name, value),
                max_age=_SECONDS,
                path=base or "/",
                samesite="lax",
                httponly=True,
            )
    return answer
