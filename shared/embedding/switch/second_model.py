"""A second encoder beside one that speaks few languages, once it is needed.

An entry needs it, or questions do. It reads every entry: questions in other languages
ask for those in the first one, too.
"""

from typing import LiteralString

from shared.embedding.models.model_names import SECOND, SECOND_DIMENSION
from shared.embedding.switch import reembed, switch_model
from shared.embedding.vectors import not_embedded, vector_tables
from shared.errors import ConflictError
from shared.log import get_logger
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings

log = get_logger()

# Asked for all tenants together, because one table serves them all.
_IS_NEEDED: LiteralString = """
    SELECT EXISTS (SELECT FROM embedding_skipped
                    WHERE model = %(model)s AND reason = 'language')"""


def begin_if_needed(pool: Pool, settings: Settings, *, is_asked: bool = False) -> bool:
    """Begin to embed with the second model, too, once the first leaves an entry out.

    Or once questions ask for it, `is_asked`. Return whether that begins now. Workers of
    searches load it meanwhile.
    """
    if not settings.embed_other_languages:
        return False
    try:
        with connection(pool) as conn:
            live = vector_tables.find_live_model(conn)
            if live is None or not not_embedded.spoken(live.model, settings):
                return False
            if vector_tables.find_model(conn, SECOND) is not None:
                return False
            model = {"model": live.model}
            if not (is_asked or fetch_value(conn, _IS_NEEDED, model)):
                return False
            prefix = settings.vector_table_prefix
            vector_tables.ensure_table(conn, prefix, SECOND, SECOND_DIMENSION)
            switch_model.want_warm(conn, SECOND)
            reembed.ask(conn, SECOND)
    except ConflictError:
        # Another model is being filled: the next entry of that kind asks again.
        return False
    log.warning("second_model_begun", model=SECOND, first=live.model)
    return True
