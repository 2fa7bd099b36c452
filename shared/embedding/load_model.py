"""From the name of a model in the settings to the model, ready to use."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from shared.embedding.models import model_folder, model_names
from shared.embedding.models.encoder_contract import CrossEncoder, Encoder
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.errors import ModuleNotEnabledError
from shared.settings.search_sections import RerankingSettings
from shared.settings.sections import ProviderSettings

_FOLDERS = (model_names.FOLDER_PREFIX, "/", "~", ".")
# Where a setting names a model: late interaction with the pieces of all-MiniLM-L6-v2.
LATE = "late"


def load_encoder(
    model: str,
    cache: Path,
    providers: Mapping[str, ProviderSettings] = MappingProxyType({}),
) -> Encoder:
    """Return the encoder of a built-in name, a folder's, or a provider's model."""
    name = model_names.ALIASES.get(model, model)
    hashing = model_names.HASHING.fullmatch(name)
    if hashing:
        return HashingEncoder(int(hashing[1]))
    if name == model_names.SECOND:
        # It costs 120 MB, where nobody asks for it.
        from shared.embedding.models.sentence_encoder import SentenceEncoder

        return SentenceEncoder()
    provider = name.partition(":")[0]
    if provider in providers:
        from shared.embedding.models.endpoint_models import EndpointEncoder

        return EndpointEncoder(name, providers[provider])
    # Its runtime costs 27 MB: most processes have no need of a model.
    from shared.embedding.models.onnx_models import OnnxEncoder

    if is_folder(name):
        return OnnxEncoder(_own_folder(name))
    return OnnxEncoder(folder_of(cache, name))


def folder_of(cache: Path, model: str) -> Path:
    """Return where a built-in model is, made now if it is not there."""
    folder = model_folder.folder_of(cache, model)
    if model_folder.manifest_of(folder) is not None:
        return folder
    # What makes a model costs a second and more to import, once in a cache's life.
    if model == model_names.BGE:
        from shared.embedding.models import bge_small

        return bge_small.ensure(cache)
    from shared.embedding.models import convert_minilm

    return convert_minilm.ensure(cache, model)


def is_folder(model: str) -> bool:
    """Tell whether a setting names a folder of this machine."""
    return model.startswith(_FOLDERS)


def is_named(model: str, providers: Mapping[str, ProviderSettings]) -> bool:
    """Tell whether a setting names a model that there can be."""
    return model == LATE or is_folder(model) or model.partition(":")[0] in providers


def load_cross_encoder(
    settings: RerankingSettings, providers: Mapping[str, ProviderSettings], cache: Path
) -> CrossEncoder:
    """Return the cross-encoder of a folder, or a provider's, or late interaction."""
    model = settings.model
    if model == LATE:
        from shared.embedding.models.onnx_models import LateInteraction

        return LateInteraction(folder_of(cache, model_names.TOKENS))
    provider, _, name = model.partition(":")
    if provider in providers:
        from shared.embedding.models.endpoint_models import EndpointCrossEncoder

        return EndpointCrossEncoder(
            provider,
            name,
            providers[provider],
            are_logits=settings.endpoint_scores == "logit",
        )
    if not is_folder(model):
        message = f"No cross-encoder is called {model!r} here (`reranking.model`)."
        raise ModuleNotEnabledError(message, module_name="rerank")
    # Its runtime costs 27 MB: most processes have no need of a model.
    from shared.embedding.models.onnx_models import OnnxCrossEncoder

    return OnnxCrossEncoder(_own_folder(model))


def _own_folder(model: str) -> Path:
    return Path(model.removeprefix(model_names.FOLDER_PREFIX)).expanduser()
