import hashlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError, IncompleteReadError

from siftline.models.model_folders import (
    Manifest,
    ModelDamagedError,
    ModelFolder,
    ModelMissingError,
    ModelUnavailableError,
    facts_of,
    is_whole,
    write_manifest,
)

FILES = {"model.onnx": b"\x08" * 3_000, "tokenizer.json": b"{}"}


class FakeBody:
    def __init__(self, data: bytes, breaks_after: int | None) -> None:
        self._data = data
        self._breaks_after = breaks_after

    def iter_chunks(self, chunk_size: int) -> Iterator[bytes]:
        sent = 0
        for start in range(0, len(self._data), min(chunk_size, 512)):
            if self._breaks_after is not None and sent >= self._breaks_after:
                raise IncompleteReadError(actual_bytes=sent, expected_bytes=len(self._data))
            chunk = self._data[start : start + min(chunk_size, 512)]
            sent += len(chunk)
            yield chunk


class FakeBucket:
    """S3 with the objects of one bucket, as boto3's client shows them."""

    def __init__(self, objects: Mapping[str, bytes]) -> None:
        self.objects = dict(objects)
        self.asked: list[str] = []
        self.breaks_after: int | None = None
        self.refusal = "NoSuchKey"

    def get_object(self, *, Bucket: str, Key: str) -> Mapping[str, Any]:  # noqa: N803 - boto3's spelling
        self.asked.append(Key)
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": self.refusal, "Message": Bucket}}, "GetObject")
        breaks = self.breaks_after if Key.endswith("model.onnx") else None
        return {"Body": FakeBody(self.objects[Key], breaks)}


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    files = {name: facts_of(folder / name) for name in FILES}
    write_manifest(folder, Manifest(model_id="tiny", model_version="tiny-1", dimensions=4, max_tokens=8, files=files))
    return folder


@pytest.fixture
def bucket(model):
    return FakeBucket({f"models/tiny/{path.name}": path.read_bytes() for path in model.iterdir()})


def test_a_folder_is_a_model_as_it_stands(model, tmp_path):
    found = ModelFolder(str(model), tmp_path / "cache")

    assert found.path() == model
    assert found.manifest.model_version == "tiny-1"
    assert not (tmp_path / "cache").exists()


def test_a_folder_may_be_named_by_a_file_address(model, tmp_path):
    assert ModelFolder(f"file://{model}/", tmp_path).path() == model


def test_no_model_says_what_puts_one_there(tmp_path):
    with pytest.raises(ModelMissingError, match="make run"):
        ModelFolder(str(tmp_path / "nowhere"), tmp_path)


def test_a_file_that_is_missing_or_cut_off_is_told_before_it_is_loaded(model, tmp_path):
    found = ModelFolder(str(model), tmp_path)
    (model / "model.onnx").write_bytes(b"short")
    with pytest.raises(ModelDamagedError, match=r"model\.onnx"):
        found.path()
    (model / "model.onnx").unlink()
    with pytest.raises(ModelMissingError, match=r"model\.onnx"):
        found.path()


def test_what_is_no_manifest_is_refused(model, tmp_path):
    (model / "manifest.json").write_text('{"model_id": "x"}')

    with pytest.raises(ModelMissingError, match="cannot be read"):
        ModelFolder(str(model), tmp_path)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b.onnx", "manifest.json"])
def test_a_manifest_cannot_name_files_outside_its_folder(model, tmp_path, name):
    manifest = model / "manifest.json"
    manifest.write_text(manifest.read_text().replace("tokenizer.json", name))

    with pytest.raises(ModelMissingError, match="outside"):
        ModelFolder(str(model), tmp_path)


def test_a_model_in_s3_is_downloaded_once(bucket, tmp_path):
    first = ModelFolder("s3://anywhere/models/tiny/", tmp_path, bucket).path()
    asked = len(bucket.asked)
    second = ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket).path()

    assert first == second
    assert is_whole(first)
    assert bucket.asked[asked:] == ["models/tiny/manifest.json"]


def test_a_new_model_at_the_same_address_is_downloaded_beside_the_old_one(bucket, model, tmp_path):
    old = ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket).path()
    bucket.objects["models/tiny/tokenizer.json"] = b'{"new": 1}'
    facts = {"sha256": hashlib.sha256(b'{"new": 1}').hexdigest(), "size_bytes": 10}
    manifest = Manifest.model_validate_json((model / "manifest.json").read_text())
    changed = manifest.model_dump() | {"files": {**manifest.model_dump()["files"], "tokenizer.json": facts}}
    bucket.objects["models/tiny/manifest.json"] = Manifest.model_validate(changed).model_dump_json().encode()

    new = ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket).path()

    assert new != old
    assert (new / "tokenizer.json").read_bytes() == b'{"new": 1}'


def test_a_download_that_breaks_off_leaves_nothing_and_is_tried_again(bucket, tmp_path):
    folder = ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket)
    bucket.breaks_after = 1_024
    with pytest.raises(ModelUnavailableError):
        folder.path()
    assert list(tmp_path.glob("*tiny-1*")) == []
    assert list(tmp_path.glob("half-*")) == []

    bucket.breaks_after = None
    assert is_whole(folder.path())


def test_a_download_that_ends_early_is_not_taken_for_the_file(bucket, tmp_path):
    bucket.objects["models/tiny/model.onnx"] = FILES["model.onnx"][:2_000]

    with pytest.raises(ModelUnavailableError, match="ended early"):
        ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket).path()


def test_another_file_of_the_same_length_is_refused(bucket, tmp_path):
    bucket.objects["models/tiny/model.onnx"] = b"\x09" * 3_000

    with pytest.raises(ModelDamagedError):
        ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket).path()
    assert list(tmp_path.glob("*tiny-1*")) == []


def test_an_object_that_is_not_there_is_a_fault_of_the_setting_and_a_throttled_one_is_not(bucket, tmp_path):
    with pytest.raises(ModelMissingError, match=r"models/other/manifest\.json"):
        ModelFolder("s3://anywhere/models/other", tmp_path, bucket)
    bucket.refusal = "SlowDown"
    with pytest.raises(ModelUnavailableError):
        ModelFolder("s3://anywhere/models/other", tmp_path, bucket)


def test_two_downloads_at_once_end_with_one_whole_model(bucket, tmp_path):
    folders = [ModelFolder("s3://anywhere/models/tiny", tmp_path, bucket) for _ in range(4)]
    paths = []
    threads = [threading.Thread(target=lambda f=folder: paths.append(f.path())) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(paths)) == 1
    assert len(paths) == 4
    assert is_whole(paths[0])


def test_a_folder_without_a_manifest_is_not_whole(tmp_path):
    assert not is_whole(tmp_path)
