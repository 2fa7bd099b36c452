"""Whether unified search is on, here and for the facility of whoever calls."""

from api.context import Caller, Ctx
from shared.errors import ModuleNotEnabledError


async def require_unified_search(caller: Caller, ctx: Ctx) -> None:
    """Refuse where a setting switches it off; asynchronous, as all that is brief."""
    settings, tenant = ctx.settings, caller.scope.tenant
    own = settings.tenants.get(tenant)
    if settings.unified_search.enabled and (own is None or own.enabled):
        return
    name = "unified_search.enabled"
    if settings.unified_search.enabled:
        name = f"tenants.{tenant}.enabled"
    message = f"Unified search is switched off here ({name})."
    raise ModuleNotEnabledError(message, module_name="unified_search")
