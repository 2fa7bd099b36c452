"""An entry with markup is embedded and shown as it is read, span by span."""

from shared.access.scope import Scope
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors.embed_entry import embed
from shared.entries.reading import read_entries
from shared.search.results.highlights import passage
from shared.search.results.hydrate import hydrate
from tests.support.saving import save_entry

TENANT = "default"
HTML = "<div class='note'>" + "<p>Pump <b>7</b> was <i>loud</i> &amp; hot.</p>" * 80


def test_a_result_shows_of_a_page_what_was_embedded_and_no_tags(conn) -> None:
    entry_id = save_entry(conn, "A-1", HTML, stages=["metadata"], text_format="html")
    content = read_entries.load_contents(conn, TENANT, [entry_id])[entry_id]

    found = embed(content, HashingEncoder())
    row = hydrate(conn, [entry_id], Scope(TENANT, "anna"), 1000)[entry_id]

    assert len(found.chunks) > 1
    for chunk in found.chunks:
        start, end = passage(row.text, [], (chunk.start, chunk.end))
        shown = row.text[start:end]
        assert shown == chunk.text
        assert "<" not in shown
    assert "was loud & hot." in row.text
