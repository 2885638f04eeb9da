import json
import shutil

import numpy as np
import pytest

from memory_plugin.embedding import find_model, open_embedder
from memory_plugin.errors import EmbedderError


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


async def vectors(folder, texts, kind="passage"):
    embedder = await open_embedder(model_dir=folder, cache_dir=folder / "cache")
    try:
        return await embedder.embed(texts, kind)
    finally:
        await embedder.close()


def unit(vector):
    return vector / np.linalg.norm(vector)


def mean_of(table, *words):
    """The mean of what the graph looks up; the small model puts [CLS] first."""
    return unit(sum(table[word] for word in ("[CLS]", *words)))


async def test_words_are_pooled_by_their_mean_without_the_padding(make_model, tmp_path, words):
    folder = make_model(tmp_path / "m")

    rows = await vectors(folder, ["red", "red green blue green", "blue"])

    assert np.allclose(rows[0], mean_of(words, "red"), atol=1e-5)
    assert np.allclose(rows[1], mean_of(words, "red", "green", "blue", "green"), atol=1e-5)
    assert np.allclose(rows[2], mean_of(words, "blue"), atol=1e-5)


async def test_cls_pooling_takes_the_first_token(make_model, tmp_path, words):
    folder = make_model(tmp_path / "m")
    write_json(folder / "memory_plugin.json", {"pooling": "cls"})

    rows = await vectors(folder, ["red green", "blue"])

    assert np.allclose(rows, unit(words["[CLS]"]), atol=1e-5)


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, True),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, False),
        ({"pooling_mode": "cls"}, True),
    ],
)
async def test_pooling_is_read_from_the_exporters_file(make_model, tmp_path, said, same):
    folder = make_model(tmp_path / "m")
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 4, **said})

    rows = await vectors(folder, ["red", "blue"])

    assert np.allclose(rows[0], rows[1], atol=1e-5) == same


async def test_prefixes_go_before_queries_and_passages(make_model, tmp_path):
    plain = make_model(tmp_path / "plain")
    folder = make_model(tmp_path / "m")
    write_json(
        folder / "memory_plugin.json",
        {"query_prefix": "query: ", "passage_prefix": "passage: "},
    )

    said = await vectors(plain, ["query: red", "passage: red"])

    assert np.allclose((await vectors(folder, ["red"], "query"))[0], said[0], atol=1e-6)
    assert np.allclose((await vectors(folder, ["red"], "passage"))[0], said[1], atol=1e-6)


async def test_the_exporters_prompts_are_prefixes(make_model, tmp_path):
    folder = make_model(tmp_path / "m")
    write_json(
        folder / "config_sentence_transformers.json",
        {"prompts": {"query": "query: ", "document": "passage: "}},
    )

    files = find_model(model_dir=folder, cache_dir=tmp_path)

    assert (files.query_prefix, files.passage_prefix) == ("query: ", "passage: ")


async def test_a_graph_that_wants_token_types_gets_them(make_model, tmp_path):
    rows = await vectors(make_model(tmp_path / "types", types=True), ["red green"])

    assert np.allclose(
        rows, await vectors(make_model(tmp_path / "plain"), ["red green"]), atol=1e-6
    )


async def test_a_graph_of_small_numbers_gets_them(make_model, tmp_path):
    rows = await vectors(make_model(tmp_path / "small", number="INT32"), ["red green"])

    assert np.allclose(
        rows, await vectors(make_model(tmp_path / "plain"), ["red green"]), atol=1e-6
    )


async def test_a_graph_that_pools_by_itself_is_taken_at_its_word(make_model, tmp_path, words):
    rows = await vectors(make_model(tmp_path / "m", pooled=True), ["red"])

    assert np.allclose(rows[0], mean_of(words, "red"), atol=1e-5)


async def test_a_tokenizer_without_special_tokens_still_embeds_nothing(make_model, tmp_path):
    rows = await vectors(make_model(tmp_path / "m", special=False), ["", "red"])

    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


async def test_text_is_cut_where_the_model_says(make_model, tmp_path):
    folder = make_model(tmp_path / "m")
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 9})
    eight = "red green " * 4

    rows = await vectors(folder, [eight, eight + "blue blue blue", "red blue"])

    assert np.allclose(rows[0], rows[1], atol=1e-6)
    assert not np.allclose(rows[0], rows[2], atol=1e-2)


async def test_a_length_beyond_the_models_positions_is_cut_down(make_model, tmp_path):
    folder = make_model(tmp_path / "m")
    write_json(folder / "config.json", {"max_position_embeddings": 64, "_name_or_path": "x/tiny"})

    files = find_model(model_dir=folder, cache_dir=tmp_path)

    assert files.max_tokens == 64
    assert files.name.startswith("tiny/")


@pytest.mark.parametrize("word", ["zero", "nan"])
async def test_a_vector_without_direction_is_refused(make_model, tmp_path, word):
    folder = make_model(tmp_path / "m", special=False)
    embedder = await open_embedder(model_dir=folder, cache_dir=tmp_path)

    with pytest.raises(EmbedderError, match="without a direction"):
        await embedder.embed(["red", word])

    assert (await embedder.embed(["red"])).shape == (1, 4)
    await embedder.close()


async def test_a_folder_keeps_its_name_when_it_moves(make_model, tmp_path):
    folder = make_model(tmp_path / "m")
    shutil.copytree(folder, tmp_path / "elsewhere")

    here = find_model(model_dir=folder, cache_dir=tmp_path)
    there = find_model(model_dir=tmp_path / "elsewhere", cache_dir=tmp_path)

    assert here.name == there.name


@pytest.mark.parametrize("change", ["model", "tokenizer", "use"])
async def test_what_changes_the_vectors_changes_the_name(make_model, tmp_path, change):
    folder = make_model(tmp_path / "m")
    before = find_model(model_dir=folder, cache_dir=tmp_path).name

    if change == "model":
        make_model(folder, types=True)
    elif change == "tokenizer":
        (folder / "tokenizer.json").write_text("{}")
    else:
        write_json(folder / "memory_plugin.json", {"pooling": "cls"})

    assert find_model(model_dir=folder, cache_dir=tmp_path).name != before


async def test_a_graph_may_lie_in_the_folder_onnx(make_model, tmp_path):
    folder = make_model(tmp_path / "m", name="onnx/model.onnx")

    assert (await vectors(folder, ["red"])).shape == (1, 4)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("memory_plugin.json", {"poolings": "cls"}, "unknown key 'poolings'"),
        ("memory_plugin.json", {"pooling": "max"}, "mean or cls"),
        ("memory_plugin.json", {"query_prefix": 5}, "query_prefix must be text"),
        ("memory_plugin.json", {"max_tokens": 4}, "from 8 to 8192, not 4"),
        ("memory_plugin.json", {"max_tokens": True}, "from 8 to 8192"),
        ("memory_plugin.json", {"max_tokens": "256"}, "from 8 to 8192"),
        ("memory_plugin.json", [], "must hold a JSON object"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "mean or cls"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "layer outside"),
    ],
)
async def test_a_wrong_description_is_an_error_that_names_it(
    make_model, tmp_path, path, value, says
):
    folder = make_model(tmp_path / "m")
    write_json(folder / path, value)

    with pytest.raises(EmbedderError, match=says):
        find_model(model_dir=folder, cache_dir=tmp_path)


async def test_a_broken_description_is_an_error(make_model, tmp_path):
    folder = make_model(tmp_path / "m")
    (folder / "memory_plugin.json").write_text("{oops")

    with pytest.raises(EmbedderError, match=r"memory_plugin\.json"):
        find_model(model_dir=folder, cache_dir=tmp_path)


async def test_missing_files_are_named(make_model, tmp_path):
    with pytest.raises(EmbedderError, match="is not a folder"):
        find_model(model_dir=tmp_path / "nowhere", cache_dir=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbedderError, match=r"no model\.onnx"):
        find_model(model_dir=tmp_path / "empty", cache_dir=tmp_path)
    folder = make_model(tmp_path / "m")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(EmbedderError, match=r"no tokenizer\.json"):
        find_model(model_dir=folder, cache_dir=tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
async def test_a_damaged_file_is_named_when_it_is_opened(make_model, tmp_path, name):
    folder = make_model(tmp_path / "m")
    (folder / name).write_bytes(b"not at all")

    with pytest.raises(EmbedderError, match=name):
        await open_embedder(model_dir=folder, cache_dir=tmp_path)


async def test_an_input_that_nobody_knows_is_refused(make_model, tmp_path):
    folder = make_model(tmp_path / "m", extra="position_ids")

    with pytest.raises(EmbedderError, match="position_ids"):
        await open_embedder(model_dir=folder, cache_dir=tmp_path)
