"""The moments that bound a query, as its column has them: text, number, wall time."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from workers.adapters.mapping.map_settings import each
from workers.adapters.sql.dialects import Dialect
from workers.adapters.sql.settings import SQLArgs

# Longer than any change of clocks, so that the hour that comes twice is seen ahead.
AHEAD = timedelta(hours=3)

_SECOND = timedelta(seconds=1)


class RowBounds:
    """Bounds for a query that miss no row; rows too many are dropped later."""

    def __init__(self, args: SQLArgs, zone: str | None) -> None:
        self._args = args
        self._zone: tzinfo = ZoneInfo(zone) if zone else UTC

    def lower(self, dialect: Dialect, moment: datetime) -> Any:
        """Return a lower bound as the column has it, in whole seconds, never later."""
        moment = moment.replace(microsecond=0)
        if self._args.since_bound == "exclusive":
            moment -= _SECOND
        ahead = _offset(moment + AHEAD, self._zone)
        # Soon an hour comes twice: what is later may bear an earlier wall time.
        shift = max(_offset(moment, self._zone) - ahead, timedelta())
        return self._written(dialect, moment, -shift)

    def upper(self, dialect: Dialect, moment: datetime) -> Any:
        """Return an upper bound, in whole seconds, and never earlier."""
        if moment.microsecond:
            moment = moment.replace(microsecond=0) + _SECOND
        before = _offset(moment - AHEAD, self._zone)
        shift = max(before - _offset(moment, self._zone), timedelta())
        return self._written(dialect, moment, shift)

    def _written(self, dialect: Dialect, moment: datetime, shift: timedelta) -> Any:
        if self._args.unit is not None:
            return int(moment.timestamp()) * (1000 if self._args.unit == "ms" else 1)
        wall = (moment + shift).astimezone(self._zone)
        if self._args.time_format:
            return wall.strftime(each(self._args.time_format)[0])
        return dialect.bound(wall)


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    return moment.astimezone(zone).utcoffset() or timedelta()
