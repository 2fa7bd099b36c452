"""The stage that makes vectors: its due work is called after the model."""

from shared.embedding.models import model_names
from shared.messaging import stage_names
from shared.settings.settings import Settings
from shared.stages.stage_contract import StageDescriptor

# Raised where what is given to encoders is made otherwise: every entry is looked at
# anew, and has new vectors where an encoder would read something else.
VERSION = 3


def get_stage_descriptor() -> StageDescriptor:
    """Return the descriptor of the stage that makes vectors."""
    return StageDescriptor(
        "embed",
        version=VERSION,
        description="Makes the vectors of every model in use.",
        order=20,
        writes="the model's table of vectors",
        on_deletion=True,
        row_name=_row_name,
    )


def _row_name(settings: Settings) -> str:
    # Where vectors are due, they are due for every model in use: `due.rows.add`.
    return stage_names.embed_stage(model_names.choose_first_model(settings))
