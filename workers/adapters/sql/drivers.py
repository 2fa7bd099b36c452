"""Which driver reads a database: the scheme of its address says it."""

from urllib.parse import unquote, urlsplit

from shared.errors import ConfigurationError
from workers.adapters.sql.dialects import Dialect, Login
from workers.adapters.sql.mysql_oracle import MySQL, Oracle
from workers.adapters.sql.postgres import Postgres
from workers.adapters.sql.sqlite import SQLite

_POSTGRES, _MYSQL, _ORACLE, _SQLITE = "postgresql", "mysql", "oracle", "sqlite"
_SCHEMES = {
    _POSTGRES: _POSTGRES,
    "postgres": _POSTGRES,
    _MYSQL: _MYSQL,
    "mariadb": _MYSQL,
    _ORACLE: _ORACLE,
    _SQLITE: _SQLITE,
}


def scheme_of(address: str) -> str | None:
    """Return the kind of database that an address is of, if it is of one."""
    # As some write it, with the name of a driver: `mysql+pymysql`.
    scheme, is_address, _ = address.partition("://")
    return _SCHEMES.get(scheme.partition("+")[0].lower()) if is_address else None


def dialect_of(dsn: str) -> Dialect:
    """Return the dialect of an address of a database; nothing is asked yet."""
    kind = scheme_of(dsn)
    rest = dsn.partition("://")[2]
    match kind:
        case "postgresql":
            return Postgres(f"{kind}://{rest}")
        case "sqlite":
            # sqlite:///relative and sqlite:////absolute, as everyone writes them.
            return SQLite(unquote(urlsplit(f"{kind}://{rest}").path[1:]))
        case "mysql":
            return MySQL(Login.of(urlsplit(f"{kind}://{rest}")))
        case "oracle":
            return Oracle(Login.of(urlsplit(f"{kind}://{rest}")))
        case _:
            known = ", ".join(sorted(_SCHEMES))
            raise ConfigurationError(
                f"The DSN begins with none of {known}.", config_key="args.dsn"
            )
