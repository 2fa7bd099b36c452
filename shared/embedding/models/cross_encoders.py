"""Models that read question and text: a cross-encoder both together, as a logit.

Late interaction reads each by itself and compares their pieces: by the shipped model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from shared.embedding.models import encoders, model_names
from shared.embedding.models.model_names import FOLDER_PREFIX
from shared.errors import ModuleNotEnabledError

if TYPE_CHECKING:
    from shared.settings.search_sections import RerankingSettings
    from shared.settings.sections import ProviderSettings

_FOLDERS = (FOLDER_PREFIX, "/", "~", ".")
# Where a setting names a model: late interaction with the pieces of all-MiniLM-L6-v2.
LATE = "late"


class CrossEncoder(Protocol):
    """A model that reads a question and a text together; safe between threads."""

    # Whether it says likenesses, piece by piece, and no logits.
    late: bool

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return one finite score for each text within the time, or raise."""


def is_folder(model: str) -> bool:
    """Tell whether a setting names a folder of this machine."""
    return model.startswith(_FOLDERS)


def is_named(model: str, providers: Mapping[str, ProviderSettings]) -> bool:
    """Tell whether a setting names a model that there can be."""
    return model == LATE or is_folder(model) or model.partition(":")[0] in providers


def load(
    settings: RerankingSettings,
    providers: Mapping[str, ProviderSettings],
    cache: Path,
) -> CrossEncoder:
    """Return the cross-encoder of a folder, or a provider's, or late interaction."""
    model = settings.model
    if model == LATE:
        from shared.embedding.models.onnx_models import LateInteraction

        return LateInteraction(encoders.folder_of(cache, model_names.TOKENS))
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

    return OnnxCrossEncoder(Path(model.removeprefix(FOLDER_PREFIX)).expanduser())
