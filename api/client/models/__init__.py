"""What the API answers; a file is imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from api.client.models.access import *
    from api.client.models.entries import *
    from api.client.models.operations import *
    from api.client.models.search import *
    from api.client.models.searches import *
    from api.client.models.server import *
    from api.client.models.sources import *

_NAMES = {
    "access": """
    AuditPage AuditRecordOut KeyCreated KeyOut KeyPage Me""",
    "entries": """
    AttachmentList AttachmentOut ChangeOut ChangePage DigestItem DigestSections
    Entity EntryOut EntryPage InlinePicture NamedDevice PushedEntries PushedEntry
    PushedItem RevisionOut RevisionPage ShiftDigest TextsCut ThreadLink ThreadOut
    TimelineStep TreeNode""",
    "operations": """
    Alive ChoreOut Collection EmbedModelOut EmbedModelsOut Health IndexOut
    KnowledgeQueuedOut LagOut LockOut MaintenanceOut PausedOut PlannedOut
    Precondition QuarantinePage QuarantinedOut QueueOut QueuedOut Ready ReleasedOut
    SemanticOut StageOut StatusOut VectorDb""",
    "search": """
    AnalyticsOut BranchOutcome Changed Domain EvidenceOut EvidenceSentence
    FacetBucket FacetValue FilterOption JobLinks NamedTime NearMiss Parameter
    PlainResult PlanEngine PlanEntity PreviewSample QualityAlertOut QualityMetrics
    QuietHours Relaxation ResultsCut SavedRequest SearchCardLine SearchHit
    SearchMeta SearchedSource SentAlert SuggestionOut TimeApplied UnknownTime
    WhyNotBranch""",
    "searches": """
    AlertOut AlertPage Capabilities Classified ContextAnswer Coverage Facet
    FilterOptions Job JobAccepted JobPage JobResults ModeInfo ModuleInfo
    OverflowHits PlainResponse PreviewOut QualityAlerts QueryPlan Replay
    SavedSearchOut SavedSearchPage SearchCard SearchResponse SearchTime
    SimilarEntries SuggestionsOut TermOut TermPage WhyNot""",
    "server": """
    Citation Diagnostic ErrorBody ErrorInfo OtherValue Suppressed TotalCandidates
    TracedCall TracedTurn""",
    "sources": """
    CheckOut ReloadOut RunOut RunPage SourceList SourceOut Triggered WaitingOut""",
}
_FILES = {one: file for file in _NAMES for one in _NAMES[file].split()}
__all__ = list(_FILES)


def __getattr__(name: str) -> Any:
    """Import the file that has a model."""
    if name not in _FILES:
        raise AttributeError(name)
    module = import_module(f"{__name__}.{_FILES[name]}")
    return getattr(module, name)
