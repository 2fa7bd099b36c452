"""Whether a question is one for a logbook: for whoever routes questions."""

from datetime import datetime

from fastapi import Response

from api.context import Ctx, needs
from api.search.schemas.classify import Classified, ClassifyIn
from api.server.body_model import dump_fields
from api.server.json_response import as_json
from api.strict_route import described, strict_router
from shared.answers.question.question_class import classify_question
from shared.text import door
from shared.times.rfc3339 import timestamp

router = strict_router("/v1/classify", "search", needs("search"))


@router.post("")
@described("Tell whether a question is one for a logbook", Classified)
async def post_classify(body: ClassifyIn, ctx: Ctx) -> Response:
    """Answer by rules alone, without a model; nothing is searched."""
    query = door.admit(body.query, "query")
    found = classify_question(query, ctx.searches.calendar, ctx.searches.facility)
    named = found.time_range and _named(*found.time_range)
    plan = list(found.plan)
    return as_json(dump_fields(Classified, found, plan=plan, time_range=named))


def _named(since: str | None, until: str | None) -> dict[str, str | None]:
    ends = (one and timestamp(datetime.fromisoformat(one)) for one in (since, until))
    return dict(zip(("from", "to"), ends, strict=True))
