from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from girl import store
from girl.errors import DamagedError, InputError

VALUE = {"epoch": 3, "best": float("inf"), "why": [1, None]}


def tensors():
    crow, col = torch.tensor([0, 2, 2, 3], dtype=torch.int32), torch.tensor([0, 3, 1], dtype=torch.int32)
    return {
        "dense": torch.rand(5, 2),
        "sparse": torch.sparse_csr_tensor(crow, col, torch.rand(3), (3, 4), check_invariants=True),
        "empty": torch.empty(0, 7),
        "scalar": torch.tensor(3.0),
        "bytes": torch.arange(7, dtype=torch.uint8),
        "mask": torch.tensor([True, False]),
        "transposed": torch.rand(3, 4).T,
        "no stride": torch.ones(()).expand(1),
        "none, no stride": torch.ones((), dtype=torch.int32).expand(0),
        "half": torch.ones(3, dtype=torch.bfloat16),
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "some.safetensors"


def test_saved_tensors_and_value_are_loaded_unchanged_and_mapped(path):
    written = tensors()
    store.save(path, written, VALUE)
    loaded, value = store.load(path)
    assert value == store.load_value(path) == VALUE
    assert loaded.keys() == written.keys()
    for name, tensor in written.items():
        assert (loaded[name].layout, loaded[name].dtype) == (tensor.layout, tensor.dtype)
        assert torch.equal(loaded[name].to_dense(), tensor.to_dense())
    assert loaded["sparse"].col_indices().dtype == torch.int32
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(path) in maps.read_text()


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    content = tensors()
    store.save(path, content, VALUE)
    store.save(tmp_path / "again", dict(reversed(content.items())), VALUE)
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_a_removed_file_stays_mapped_and_writing_to_a_tensor_does_not_change_the_file(path):
    written = tensors()
    store.save(path, written)
    before = path.read_bytes()
    loaded, _ = store.load(path)
    loaded["dense"].add_(1)
    assert path.read_bytes() == before
    path.unlink()
    assert torch.equal(loaded["dense"], written["dense"] + 1)


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 7))
def test_every_flipped_bit_is_noticed(tmp_path_factory, where, bit):
    path = tmp_path_factory.mktemp("store") / "file"
    store.save(path, {"a": torch.arange(9.0), "b": torch.eye(3).to_sparse_csr()}, {"name": "x"})
    data = bytearray(path.read_bytes())
    data[int(where * len(data))] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(DamagedError, match=str(path)):
        store.load(path)


@pytest.mark.parametrize("length", [0, 7, -9])
def test_a_file_that_was_cut_short_is_damaged(path, length):
    store.save(path, tensors())
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(DamagedError, match="not a readable safetensors file"):
        store.load(path)


def test_a_foreign_file_is_named_as_such_and_a_missing_one_is_missing(path, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        store.load(path)
    assert caught.value.filename == str(path)
    for metadata in (None, {"girl": "{}"}, {"girl": '{"digest": "", "meta": ""}'}, {"girl": "junk"}):
        save_file({"a": torch.ones(2)}, tmp_path / "foreign", metadata)
        with pytest.raises(DamagedError, match="foreign: not written by this version of girl"):
            store.load(tmp_path / "foreign")
    assert issubclass(DamagedError, InputError)


@pytest.mark.parametrize("change", ["value", "dtype", "shape", "missing", "more"])
def test_a_changed_description_or_type_is_noticed(path, change):
    store.save(path, {"a": torch.arange(6.0), "b": torch.ones(2)}, {"classes": 5})
    with safe_open(path, "pt") as file:
        digest, header = json.loads(file.metadata()["girl"])
    arrays = load_file(path)
    match change:
        case "value":
            header["value"] = {"classes": 4}
        case "dtype":
            arrays["a"] = arrays["a"].view(torch.int32)
        case "shape":
            arrays["a"] = arrays["a"].view(2, 3)
        case "missing":
            del arrays["b"]
        case "more":
            arrays["c"] = torch.ones(1)
    save_file(arrays, path, {"girl": json.dumps([digest, header])})
    with pytest.raises(DamagedError, match="digest"):
        store.load(path)
    if change == "value":
        with pytest.raises(DamagedError, match="digest"):
            store.load_value(path)


def test_cached_content_is_computed_once_and_again_if_damaged(path):
    calls = []

    def compute():
        calls.append(1)
        return {"a": torch.arange(4)}, {"x": 1}

    for _ in range(3):
        loaded, value = store.cached(path, compute)
        assert (loaded["a"].tolist(), value, len(calls)) == ([0, 1, 2, 3], {"x": 1}, 1)
    path.write_bytes(b"junk")
    with pytest.warns(UserWarning, match="some.safetensors: not a readable.*made again"):
        store.cached(path, compute)
    assert len(calls) == 2
    store.cached(path, lambda: pytest.fail("computed again"))


def test_content_that_cannot_be_written_is_used_all_the_same(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="could not be cached"):
        loaded, _ = store.cached(tmp_path / "file" / "a", lambda: ({"a": torch.arange(4)}, None))
    assert loaded["a"].tolist() == [0, 1, 2, 3]


def test_a_fingerprint_depends_on_values_types_shapes_and_nesting_alone():
    base = torch.arange(6)
    assert store.fingerprint(base, {"a": 1, "b": 2}) == store.fingerprint(base.clone(), {"b": 2, "a": 1})
    assert store.fingerprint(base.view(2, 3).T) == store.fingerprint(base.view(2, 3).T.contiguous())
    sparse = torch.eye(3).to_sparse_csr()
    different = [base, base.int(), base.view(2, 3), base + 1, [base], None, 1, "1", torch.eye(3), sparse, 2 * sparse]
    assert len({store.fingerprint(value) for value in different}) == len(different)
    assert store.fingerprint(torch.eye(3).to_sparse_coo()) == store.fingerprint(sparse)


def test_a_fingerprint_of_anything_else_is_refused():
    with pytest.raises(TypeError, match="given set, expected tensors and JSON values"):
        store.fingerprint({1, 2})
