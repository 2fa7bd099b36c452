"""What an order of texts is worth, by question, and how sure a mean of it is."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytrec_eval

from bench.quality_engines import Collection

# As `trec_eval` names them; success is whether anything relevant is among the first.
HEADINGS = {
    "ndcg_cut_10": "nDCG@10",
    "success_1": "hit@1",
    "success_5": "hit@5",
    "success_10": "hit@10",
    "recall_10": "Recall@10",
    "recall_100": "Recall@100",
    "recip_rank": "MRR",
}
_ASKED = {"ndcg_cut.10", "success.1,5,10", "recall.10,100", "recip_rank"}
_DRAWS, _SEED = 2000, 26
_SURE = (2.5, 97.5)
# By question, by measure.
Judged = dict[str, dict[str, float]]


def judge(collection: Collection, orders: Mapping[str, Sequence[str]]) -> Judged:
    """Return the measures of each judged question's order."""
    judged = {
        number: grades
        for number, grades in collection.judged.items()
        if any(grade > 0 for grade in grades.values())
    }
    evaluator = pytrec_eval.RelevanceEvaluator(judged, _ASKED)
    # By place: trec_eval sorts by score, and breaks ties in a way of its own.
    scored = {
        number: {name: float(-place) for place, name in enumerate(orders[number])}
        for number in judged
    }
    found: Judged = evaluator.evaluate(scored)
    return found


def mean(judged: Judged, measure: str) -> float:
    """Return the mean over all questions."""
    return float(np.mean([one[measure] for one in judged.values()]))


def interval(
    judged: Judged, measure: str, against: Judged | None = None
) -> list[float]:
    """Return between what the mean lies in 95 of 100 draws of the questions.

    Against others it is the mean of the differences, question by question.
    """
    values = np.array(
        [
            one[measure] - (against[number][measure] if against else 0.0)
            for number, one in judged.items()
        ]
    )
    chance = np.random.default_rng(_SEED)
    drawn = chance.integers(0, len(values), (_DRAWS, len(values)))
    cuts: list[float] = np.percentile(values[drawn].mean(axis=1), _SURE).tolist()
    return cuts
