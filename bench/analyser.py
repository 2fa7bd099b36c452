"""How many texts a second one core analyses, and what of it is the language's share."""

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import logbook
from bench.keep_results import keep_results
from shared.enrich import digest
from shared.search.query.compiled.compiled_question import compile_question
from shared.search.query.language import grammar
from shared.stages.stage_contract import NoOptions, StageInput
from shared.text.analysis.analyser import Sections, analyse
from shared.text.analysis.tokens import make_reader
from shared.text.facility.facility import PLAIN
from shared.text.words import languages
from shared.text.words.folding import stem

REAL = Path(__file__).parents[2] / "shared/data/logbooks/nrc_events_1999.jsonl.gz"
AIMS = {100: 20_000, 500: 8_000}
TEXTS, QUICK_TEXTS = 20_000, 2_000


@dataclass(frozen=True)
class Rate:
    """What one way of reading came to, in processor time of one core."""

    name: str
    texts: int
    characters: int
    seconds: float
    aim: int | None = None

    @property
    def per_second(self) -> float:
        """Texts a second."""
        return self.texts / max(self.seconds, 1e-9)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, keep the numbers as JSON."""
    asked = _options(arguments)
    found = measure(QUICK_TEXTS if asked.quick else TEXTS, asked.texts)
    _show(found)
    if asked.keep:
        rates = [{**asdict(one), "per_second": one.per_second} for one in found]
        keep_results("analyser", rates=rates)


def measure(count: int, real: Path | None) -> list[Rate]:
    """Measure each length on texts never read before, by readers that have read others.

    That is a worker's life: new texts, known words.
    """
    rates = []
    for size, aim in AIMS.items():
        before, texts = _generated(count // 4, size, 1), _generated(count, size, 2)
        _analyse_all(before)
        rates.append(_rate(f"bare split, {size}", texts, _split_all))
        rates.append(_rate(f"analyse, {size}", texts, _analyse_all, aim))
    languages.load()
    rates.append(_rate("tell the language, 500", texts[: count // 10], _detect_all))
    rates.append(
        _rate("compile as a question, 100", _generated(count // 10, 100, 3), _ask_all)
    )
    rates.append(_rate("pick summary and keywords, 500", texts, _digest_all))
    if real is not None and real.exists():
        rates += _of_real_texts(real, count)
    return rates


def _of_real_texts(path: Path, count: int) -> list[Rate]:
    """Real texts from a cold start, then once more: what new words cost."""
    rates = []
    for size, aim in AIMS.items():
        make_reader.cache_clear()
        stem.cache_clear()
        texts = list(islice(_real(path, size), count))
        rates.append(_rate(f"real, {size}, cold", texts, _analyse_all))
        rates.append(_rate(f"real, {size}, again", texts, _analyse_all, aim))
    return rates


def _rate(
    name: str,
    texts: list[str],
    work: Callable[[list[str]], None],
    aim: int | None = None,
) -> Rate:
    # Processor time: what else the machine does is not the analyser's.
    began = time.process_time()
    work(texts)
    took = time.process_time() - began
    return Rate(name, len(texts), sum(map(len, texts)), took, aim)


def _split_all(texts: list[str]) -> None:
    for text in texts:
        text.lower().split()


def _analyse_all(texts: list[str]) -> None:
    for text in texts:
        analyse(Sections(text=text), "en")


def _detect_all(texts: list[str]) -> None:
    for text in texts:
        languages.detect(text)


def _ask_all(texts: list[str]) -> None:
    for text in texts:
        compile_question(grammar.parse(text).tree)


def _digest_all(texts: list[str]) -> None:
    for text in texts:
        fields = {"text": text, "title": "", "language": "en"}
        list(digest.find(StageInput(fields, NoOptions(), PLAIN)))


def _generated(count: int, size: int, seed: int) -> list[str]:
    texts: list[str] = []
    pieces: list[str] = []
    length = 0
    for one in logbook.entries(count * 20, seed=seed):
        pieces.append(one["text"])
        length += len(one["text"]) + 1
        if length > size:
            texts.append(" ".join(pieces)[:size])
            pieces, length = [], 0
        if len(texts) == count:
            break
    return texts


def _real(path: Path, size: int) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["event_text"]
            for start in range(0, len(text) - size, size):
                yield text[start : start + size]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.analyser", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the texts")
    parser.add_argument(
        "--texts",
        type=Path,
        default=REAL,
        help="real texts: JSON lines with `event_text`, gzipped; left out if not there",
    )
    parser.add_argument(
        "--no-keep", dest="keep", action="store_false", help="write no JSON"
    )
    return parser.parse_args(arguments)


def _show(found: list[Rate]) -> None:
    table = Table(title="Texts a second of processor time, one core")
    for column in ("", "texts", "characters", "per second", "aim", "µs a text"):
        table.add_column(column, justify="right" if column else "left")
    for one in found:
        table.add_row(
            one.name,
            f"{one.texts:,}",
            f"{one.characters / max(one.texts, 1):,.0f}",
            f"{one.per_second:,.0f}",
            f"{one.aim:,}" if one.aim else "",
            f"{1e6 / one.per_second:,.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
