"""Where settings come from: environment, file and running stack, each one a layer."""

import json
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Union, get_args, get_origin

import yaml
from pydantic import SecretStr

from shared import plugins, suggest
from shared.errors import ConfigurationError
from shared.settings import setting_names as names
from shared.settings.plugin_sections import PluginSection
from shared.settings.sections import Section
from shared.settings.setting_names import Name


class WrittenSetting(NamedTuple):
    """One value, and the name under which somebody wrote it."""

    value: Any
    spelled: str


@dataclass
class Layer:
    """Values of one origin by canonical name; two that contradict are refused."""

    origin: str
    model: type[Section]
    values: dict[Name, WrittenSetting] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    # What cannot be used of it: whoever mends it wants to know all at once.
    wrong: list[ConfigurationError] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The origin as it reads in a sentence."""
        return "the environment" if self.origin == "environment" else self.origin

    def put(self, name: Name, value: Any, spelled: str) -> None:
        """Store a value under its canonical name."""
        name = names.canonical(name)
        if not name:
            return
        if name == ("database_url",) and self._is_of_another_database(value, spelled):
            return
        annotation = self.annotation(name, spelled)
        if value is None and _section(annotation):
            return  # `synthesis:` with nothing below it says nothing.
        before = self.values.get(name)
        if before is not None and str(before.value) != str(value):
            dotted = ".".join(name)
            message = (
                f"{before.spelled} and {spelled} in {self.where} both set {dotted},"
                " to different values; keep one of them."
            )
            raise ConfigurationError(message, config_key=dotted)
        if before is None:
            self.values[name] = WrittenSetting(value, spelled)

    def put_all(
        self, values: Mapping[Any, Any], above: Name = (), variable: str = ""
    ) -> None:
        """Take in everything below a name."""
        for key, value in values.items():
            name = (*above, str(key))
            if isinstance(value, dict) and value:
                self.put_all(value, name, variable)
            else:
                spelled = variable or ".".join(name)
                with self.keeping_wrong():
                    self.put(names.spelled_out(name), value, spelled)

    @contextmanager
    def keeping_wrong(self) -> Iterator[None]:
        """Keep why a setting cannot be used, and let the next one be read."""
        try:
            yield
        except ConfigurationError as exc:
            self.wrong.append(exc)

    def is_secret(self, name: Name) -> bool:
        """Tell whether a name holds a secret."""
        return _plain(self.annotation(names.canonical(name), "")) is SecretStr

    def _is_of_another_database(self, value: Any, spelled: str) -> bool:
        foreign = spelled.endswith(("QDRANT_URL", "vector_search.url"))
        if not foreign or not str(value).lower().startswith(("http:", "https:")):
            return False
        self.warnings.append(
            f"{spelled} in {self.where} names a Qdrant server and is ignored: vectors"
            " live in Postgres, whose address is DATABASE_URL."
        )
        return True

    def annotation(self, name: Name, spelled: str) -> Any:
        """Return the type of what a name sets, or refuse the name."""
        name = names.canonical(name)
        annotation: Any = self.model
        for position, part in enumerate(name):
            section = _section(annotation)
            if section is not None and part in section.model_fields:
                annotation = section.model_fields[part].annotation
            elif section is not None and issubclass(section, PluginSection):
                _check_plugin(section, name[: position + 1], self.where)
                annotation = section.plugin_settings
            elif get_origin(_plain(annotation)) is dict:
                annotation = get_args(_plain(annotation))[1]
            elif annotation is Any:
                # What an adapter asks for is for its own model to judge.
                return Any
            else:
                raise self._unknown(name[:position], section, spelled)
        return annotation

    def _unknown(
        self, above: Name, section: type[Section] | None, spelled: str
    ) -> ConfigurationError:
        fields = section.model_fields if section is not None else ()
        allowed = [".".join((*above, key)) for key in fields]
        if self.origin == "environment":
            allowed = [names.environment_name(key) for key in allowed]
        elif not above:
            # The first part of an alias may be what was meant, too.
            allowed += list(names.ALIASES)
            allowed += [alias.split(".")[0] for alias in names.ALIASES]
        return unknown(spelled, allowed, self.where)


def config_path(environ: Mapping[str, str]) -> Path | None:
    """Return the file of settings: the one that is named, else one lying here."""
    named = environ.get("LOGCHORD_CONFIG")
    if named:
        if not Path(named).is_file():
            message = f"LOGCHORD_CONFIG names {named}, which is not a file."
            raise ConfigurationError(message, config_key="LOGCHORD_CONFIG")
        return Path(named)
    for candidate in ("logchord.yaml", "config.yml"):
        if Path(candidate).is_file():
            return Path(candidate)
    return None


def from_environment(environ: Mapping[str, str], model: type[Section]) -> Layer:
    """Read every variable that is a setting; an empty one counts as absent."""
    layer = Layer("environment", model)
    known = _variables(model)
    for variable, text in environ.items():
        if text and not names.is_service_link(variable, text):
            with layer.keeping_wrong():
                _put_variable(layer, variable, text, known)
    return layer


def _put_variable(
    layer: Layer, variable: str, text: str, known: Mapping[str, Name]
) -> None:
    name = _named_by(variable, known)
    if name is not None:
        _put_text(layer, name, text, variable)
        return
    owner = known.get(variable.removesuffix("_FILE"))
    if owner is not None and variable.endswith("_FILE") and layer.is_secret(owner):
        layer.put(owner, _secret_of(variable, text), variable)
    elif _is_ours(variable):
        allowed = [*known, *sorted(names.OTHER_VARIABLES)]
        raise unknown(variable, allowed, layer.where)


def _variables(model: type[Section]) -> dict[str, Name]:
    found: dict[str, Name] = {}
    for key in model.model_fields:
        for variable in (names.environment_name(key), names.PREFIX + key.upper()):
            found[variable] = (key,)
    for variable, dotted in names.ENVIRONMENT_ALIASES.items():
        found[variable] = tuple(dotted.split("."))
    return found


def _named_by(variable: str, known: Mapping[str, Name]) -> Name | None:
    """Return the name that a variable sets; `__` goes one section down."""
    if variable in known:
        return known[variable]
    if variable.startswith("AdvisoryAI__"):
        return names.spelled_out(tuple(variable.split("__")))
    first, *below = variable.split("__")
    if below and first.startswith(names.PREFIX) and first in known:
        return (*known[first], *(part.lower() for part in below))
    return None


def _is_ours(variable: str) -> bool:
    return (
        variable.startswith(names.PREFIX)
        and variable not in names.OTHER_VARIABLES
        and not variable.startswith(names.TEST_PREFIX)
    )


def _put_text(layer: Layer, name: Name, text: str, variable: str) -> None:
    """Read lists and sections as YAML, everything else as the text it is."""
    annotation = _plain(layer.annotation(name, variable))
    is_list = get_origin(annotation) is tuple
    if is_list and not text.lstrip().startswith("["):
        parts = [part for part in text.replace(",", " ").split() if part]
        layer.put(name, parts, variable)
    elif is_list or _section(annotation) or get_origin(annotation) is dict:
        value = _yaml(text, variable)
        if isinstance(value, dict):
            layer.put_all(value, name, variable)
        else:
            layer.put(name, value, variable)
    elif text == "null" and type(None) in get_args(annotation):
        # `null` means nothing for a number or a word that may be absent.
        layer.put(name, None, variable)
    else:
        layer.put(name, text, variable)


def _secret_of(variable: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        reason = getattr(exc, "strerror", None) or "it is not UTF-8"
        message = f"{variable} names {path}, which cannot be read: {reason}."
        raise ConfigurationError(message, config_key=variable) from exc


def from_file(path: Path, model: type[Section]) -> Layer:
    """Read the file of settings; nothing in it is ignored silently."""
    layer = Layer(str(path), model)
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as exc:
        reason = getattr(exc, "strerror", None) or "it is not UTF-8"
        raise ConfigurationError(f"{path} cannot be read: {reason}.") from exc
    values = _yaml(text, str(path))
    if values is None:
        return layer
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path} must hold names and values.")
    if isinstance(values.get("sources"), list):
        values["sources"] = _by_name(values["sources"], layer.where)
    layer.put_all(values)
    return layer


def _by_name(items: list[Any], where: str) -> dict[str, Any]:
    """Return a list of sections that each say their `name` by that name."""
    found: dict[str, Any] = {}
    for item in items:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or name in found:
            message = f"Each of sources in {where} needs a `name` of its own."
            raise ConfigurationError(message, config_key="sources")
        found[name] = {key: item[key] for key in item if key != "name"}
    return found


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key written twice, of which one would be lost."""

    def construct_mapping(  # the signature is PyYAML's
        self,
        node: Any,
        deep: bool = False,  # noqa: FBT001, FBT002
    ) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} is written twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _yaml(text: str, where: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as exc:
        # The problem and its line, but not the line itself: it may hold a secret.
        line = f" on line {exc.problem_mark.line + 1}" if exc.problem_mark else ""
        message = f"{where} cannot be read: {exc.problem}{line}."
        raise ConfigurationError(message) from exc
    except yaml.YAMLError as exc:
        raise ConfigurationError(f"{where} cannot be read: it is not YAML.") from exc


def from_stack(home: Path, model: type[Section]) -> Layer:
    """Read where a stack of this home listens; absent or unreadable means none."""
    path = home / "run" / "stack.json"
    layer = Layer("running stack", model)
    try:
        values = dict(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return layer
    except (ValueError, TypeError) as exc:
        message = f"{path} is damaged; run `logchord down`, then `logchord up`."
        raise ConfigurationError(message) from exc
    # A stack writes more there than settings, for its own use.
    layer.put_all({k: v for k, v in values.items() if k in model.model_fields})
    return layer


def nested(values: Mapping[Name, WrittenSetting]) -> dict[str, Any]:
    """Return values by whole name as sections within sections."""
    tree: dict[str, Any] = {}
    for name, written in values.items():
        node = tree
        for part in name[:-1]:
            below = node.get(part)
            if not isinstance(below, dict):
                below = node[part] = {}
            node = below
        node[name[-1]] = written.value
    return tree


def unknown(key: str, allowed: Iterable[str], where: str) -> ConfigurationError:
    """Return the refusal of a key, with the nearest one that exists."""
    message = f"{key} in {where} is not a setting.{suggest.hint(key, allowed)}"
    return ConfigurationError(message, config_key=key)


def _check_plugin(section: type[PluginSection], name: Name, where: str) -> None:
    """Refuse a module that nobody installed: most likely it is a typing error."""
    # What Logchord itself registers is switched by the fields of the section.
    installed = plugins.of_others(section.plugin_group)
    if name[-1] not in installed:
        allowed = sorted({*section.model_fields, *installed})
        above = ".".join(name[:-1])
        raise unknown(".".join(name), [f"{above}.{key}" for key in allowed], where)


def _plain(annotation: Any) -> Any:
    """Return the type without `| None`."""
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else annotation
    return annotation


def _section(annotation: Any) -> type[Section] | None:
    plain = _plain(annotation)
    is_section = isinstance(plain, type) and issubclass(plain, Section)
    return plain if is_section else None
