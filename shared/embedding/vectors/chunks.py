"""Long texts in pieces that an encoder reads whole, so that no tail goes unfound."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from shared.embedding.models.encoder_contract import Encoder, Word
from shared.embedding.vectors.chunk_prefix import Heading
from shared.text.reading import pasted_tables
from shared.text.reading.pasted_tables import Grid

OVERLAP_TOKENS = 32
# What one attempt encodes within its minute: 19 s where a core does 16 chunks of 254
# pieces a second, and of longer chunks fewer.
MAX_CHUNKS, MAX_PIECES = 300, 300 * 254
# How much of a text is split into words at a time: bounds memory for huge entries.
SEGMENT_CHARACTERS = 50_000
LONGEST_WORD = 1_000
# With more characters a piece than that, a text may still be short; few are.
SHORT_CHARACTERS = 4
# A header takes a quarter of what an encoder reads at most.
_HEADER_SHARE = 4


@dataclass(frozen=True)
class Chunk:
    """A stretch of a text, by its place in characters."""

    number: int
    start: int
    end: int
    text: str
    # The header of the table that the chunk begins inside of; encoded before the text.
    header: str = ""


class _Headers:
    """The headers of a text's tables, by place."""

    def __init__(self, text: str, encoder: Encoder) -> None:
        self._text = text
        self._encoder = encoder
        self._grids = [grid for grid in pasted_tables.find_tables(text) if grid.header]
        self._made: dict[int, Heading] = {}

    def at(self, place: int) -> Heading:
        """Return the header of the table whose rows a place is in, or none."""
        before = bisect_right(self._grids, place, key=attrgetter("body"))
        grid = self._grids[before - 1] if before else None
        if grid is None or place >= grid.end:
            return Heading()
        if grid.start not in self._made:
            self._made[grid.start] = self._header(grid)
        return self._made[grid.start]

    def begins_row(self, place: int) -> bool:
        """Tell whether a word is the first one of its line."""
        line = self._text.rfind("\n", 0, place) + 1
        return not self._text[line:place].strip(" \t|")

    def _header(self, grid: Grid) -> Heading:
        """Return as many names of columns, and whole ones, as there is room for."""
        most = self._encoder.max_tokens // _HEADER_SHARE
        end, pieces = grid.header[0].start, 0
        for cell in grid.header:
            more = self._encoder.count_tokens(self._text[end : cell.end])
            if pieces + more > most:
                break
            end, pieces = cell.end, pieces + more
        if not pieces:
            return Heading()
        return Heading(f"{self._text[grid.header[0].start : end]}\n", pieces)


def most_chunks(encoder: Encoder) -> int:
    """Return how many chunks of one text an encoder is given."""
    return max(1, min(MAX_CHUNKS, MAX_PIECES // encoder.max_tokens))


def cut(
    text: str,
    encoder: Encoder,
    *,
    overlap: int = OVERLAP_TOKENS,
    max_chunks: int | None = None,
    taken: tuple[int, int] = (0, 0),
) -> list[Chunk]:
    """Return overlapping chunks that cover the text; none of a blank one.

    Where `max_chunks` was not enough, the last chunk ends before the text does. So
    many pieces are `taken` in the first chunk, and in each of the others.
    """
    most = max_chunks or most_chunks(encoder)
    room, later = (max(1, encoder.max_tokens - pieces) for pieces in taken)
    if len(text) <= SHORT_CHARACTERS * encoder.max_tokens:
        pieces = encoder.count_tokens(text)
        if pieces <= room:
            # Most entries: to list the words takes as long as to count the pieces.
            return [Chunk(0, 0, len(text), text)] if pieces else []
    chunks: list[Chunk] = []
    held: list[Word] = []
    headers, header = _Headers(text, encoder), Heading()
    for word in _words(text, encoder):
        if held and word.tokens > room:
            chunks.append(_chunk(len(chunks), text, held, header))
            if len(chunks) == most:
                return chunks
            kept = _tail(held, min(overlap, later - word.tokens))
            held, header = _from(kept, word, later, headers)
            room = later - header.pieces - _pieces(held)
        held.append(word)
        room -= word.tokens
    if held:
        last = _chunk(len(chunks), text, held, header)
        chunks.append(replace(last, end=len(text), text=text[last.start :]))
    return chunks


def _words(text: str, encoder: Encoder) -> Iterator[Word]:
    """Yield the words of a text of any size without holding them all."""
    begin = 0
    while begin < len(text):
        end = _segment_end(text, begin)
        for word in encoder.words(text[begin:end]):
            yield Word(word.start + begin, word.end + begin, word.tokens)
        begin = end


def _segment_end(text: str, begin: int) -> int:
    """Return where to stop reading: between two words, if there is such a place."""
    end = begin + SEGMENT_CHARACTERS
    if end >= len(text):
        return len(text)
    for place in range(end, end - LONGEST_WORD, -1):
        if text[place].isspace():
            return place
    return end


def _from(
    kept: list[Word], word: Word, room: int, headers: _Headers
) -> tuple[list[Word], Heading]:
    """Return the last words that fit before a chunk's own first word, and its header.

    The header is that of the table where the chunk begins. Words of a row without its
    beginning are dropped: the chunk before has them, and below a header they mean
    nothing.
    """
    while True:
        header = headers.at((kept or [word])[0].start)
        if header.text:
            first = next(
                (
                    place
                    for place, one in enumerate([*kept, word])
                    if headers.begins_row(one.start)
                ),
                0,
            )
            kept = kept[first:]
            header = headers.at((kept or [word])[0].start)
        left = room - word.tokens - header.pieces
        if _pieces(kept) <= left:
            return kept, header
        if not kept:
            return kept, Heading()
        kept = _tail(kept, left)


def _pieces(words: Sequence[Word]) -> int:
    return sum(word.tokens for word in words)


def _chunk(number: int, text: str, words: Sequence[Word], header: Heading) -> Chunk:
    start = words[0].start if number else 0
    end = words[-1].end
    return Chunk(number, start, end, text[start:end], header.text)


def _tail(words: Sequence[Word], tokens: int) -> list[Word]:
    """Return the last words that have at most so many pieces; never all of them."""
    first = len(words)
    while first > 1 and words[first - 1].tokens <= tokens:
        first -= 1
        tokens -= words[first].tokens
    return list(words[first:])
