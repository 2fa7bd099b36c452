"""How questions are written, by example; and the keys."""

from fastapi import Request, Response

from api.context import Ctx, guest
from api.web import rendering
from api.web.page_route import page_router
from api.web.search_form import SearchForm
from shared import entry_fields

router = page_router(guest)

_QUERIES = (
    ("vacuum leak", "both words, in any form: leak, leaks, leaking"),
    ('"gate valve 8"', "exactly these words in a row"),
    ("trip -RF", "without entries that say RF"),
    ("(pump OR valve) AND leak", "either, and a third"),
    ("inject*", "whatever begins so"),
    ("SR:C??-RF*", "names with gaps"),
    ("OPS-20420", "the entry of this number, first"),
    (
        "author:solvang kind:incident",
        "fields; also logbook: device: tag: "
        + " ".join(name + ":" for name in entry_fields.NAMES),
    ),
    ("date:2026-02", "a month; also a day, a year, or two with .. between"),
    ("RF trip last night", "times in words, on the facility's clock"),
    ("has:attachment", "what has files"),
    ("has:picture", "what has pictures"),
    ("why did gate valve 8 close", "a question is answered in sentences of entries"),
)
KEYS = (
    ("/", "to the box"),
    ("j, k", "next and previous result"),
    ("Enter", "open the result"),
    ("o", "the original, at its source"),
    ("t", "its thread"),
    ("w", "why it was found"),
    ("c", "copy it as a quote with its link"),
    ("?", "this list"),
    ("Esc", "close what is open"),
)


@router.get("/help")
def get_help(request: Request, ctx: Ctx) -> Response:
    """Show examples that can be tried at once."""
    del ctx
    return rendering.show(
        request, "help.html", {"queries": _QUERIES, "keys": KEYS}, form=SearchForm()
    )
