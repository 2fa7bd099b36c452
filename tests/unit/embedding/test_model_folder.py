"""A model's folder is looked at often, and read whole only when it has changed."""

import os
from pathlib import Path

from shared.embedding.models import model_folder
from shared.embedding.models.model_folder import Manifest


def test_a_model_is_whole_until_a_file_of_it_changes_or_is_gone(tmp_path: Path) -> None:
    graph = tmp_path / model_folder.GRAPH_FILE
    tokenizer = tmp_path / model_folder.TOKENIZER_FILE
    graph.write_bytes(b"graph")
    tokenizer.write_bytes(b"tokenizer")
    seen = [model_folder.is_whole(tmp_path)]
    manifest = Manifest(
        model="small",
        dimension=2,
        max_tokens=8,
        source_sha256="",
        converter_version=model_folder.CONVERTER_VERSION,
        files=model_folder.list_hashes(tmp_path),
    )
    model_folder.write_manifest(tmp_path, manifest)
    seen += [model_folder.is_whole(tmp_path) for _ in range(2)]
    before = graph.stat()

    # As long, and of the same time, as a copy is.
    graph.write_bytes(b"grape")
    os.utime(graph, ns=(before.st_atime_ns, before.st_mtime_ns))
    seen.append(model_folder.is_whole(tmp_path))
    graph.write_bytes(b"graph")
    seen.append(model_folder.is_whole(tmp_path))
    tokenizer.unlink()
    seen.append(model_folder.is_whole(tmp_path))

    assert seen == [False, True, True, False, True, False]
