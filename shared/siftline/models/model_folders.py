"""Model folders: what a model is (``manifest.json``), and how its files come to this machine.

A model is named by a folder, or by ``s3://bucket/prefix``. What comes from S3 is downloaded once a machine into the
cache folder, every file compared with the SHA-256 of the manifest; a download that breaks off leaves nothing behind
that could be taken for a model.
"""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from siftline.kit.errors import ConfigurationError, TransientError

MANIFEST = "manifest.json"
_SCHEME = "s3://"
_CHUNK_BYTES = 1 << 20
_ABSENT = frozenset({"NoSuchKey", "NoSuchBucket", "404"})


class ModelMissingError(ConfigurationError):
    """There is no model where the setting says, or it is not one we can read."""

    code = "model_missing"
    provider = "model"


class ModelDamagedError(ConfigurationError):
    """A file of the model is not the one its manifest was written for."""

    code = "model_damaged"
    provider = "model"


class ModelUnavailableError(TransientError):
    """The model could not be fetched now."""

    code = "model_unavailable"
    provider = "model"


class FileFacts(BaseModel):
    """What a file of the model must be."""

    model_config = ConfigDict(frozen=True)

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size_bytes: int = Field(ge=0)


class Manifest(BaseModel):
    """What ``manifest.json`` says of a model.

    ``model_version`` names everything that changes what it gives; what two versions gave is never compared.
    """

    model_config = ConfigDict(frozen=True, protected_namespaces=())

    model_id: str = Field(min_length=1)
    model_version: str = Field(min_length=1, max_length=120)
    task: Literal["embedding", "nli", "token"] = "embedding"
    dimensions: int = Field(default=0, ge=0)
    """The length of an embedding model's vectors; 0 for other models."""
    labels: tuple[str, ...] = ()
    """What the outputs of an ``nli`` or ``token`` model mean, in their order."""
    entailment: int | None = Field(default=None, ge=0)
    """Which output of an ``nli`` model says that the hypothesis follows from the premise."""
    contradiction: int | None = Field(default=None, ge=0)
    hypothesis_template: str = "{}"
    """A label's sentence for an ``nli`` model; ``{}`` stands for the label's words."""
    max_tokens: int = Field(gt=2)
    query_prefix: str = ""
    passage_prefix: str = ""
    licence: str = ""
    origin: str = ""
    report: Mapping[str, float] = Field(default_factory=dict)
    """What was measured when it was made, as agreement of the quantised graph with the float32 one."""
    files: Mapping[str, FileFacts]

    @model_validator(mode="after")
    def _fits_its_task(self) -> Self:
        if self.task == "embedding" and self.dimensions < 1:
            raise ValueError("an embedding model needs dimensions")
        if self.task != "embedding" and len(self.labels) < 2:
            raise ValueError("the outputs need labels")
        if self.task == "nli":
            beyond = max(self.entailment or 0, self.contradiction or 0) >= len(self.labels)
            if self.entailment is None or self.entailment == self.contradiction or beyond:
                raise ValueError("entailment must be one of the labels, and contradiction another")
            if "{}" not in self.hypothesis_template:
                raise ValueError("the hypothesis needs a placeholder for the label")
        return self


class Body(Protocol):
    """An object's content as boto3 streams it."""

    def iter_chunks(self, chunk_size: int) -> Iterator[bytes]:
        """Yield the content in chunks of at most ``chunk_size`` bytes."""
        ...


class ObjectStore(Protocol):
    """The one call of boto3's S3 client that is made here."""

    def get_object(self, *, Bucket: str, Key: str) -> Mapping[str, Any]:  # noqa: N803 - boto3's spelling
        """Return a mapping with ``Body``, a ``Body``."""
        ...


class ModelFolder:
    """A model by its name: the manifest is read at once, the files are on this machine when ``path()`` returns.

    Raises ``ModelMissingError``, ``ModelDamagedError`` or ``ModelUnavailableError``.
    """

    def __init__(self, uri: str, cache_folder: Path, store: ObjectStore | None = None) -> None:
        self._uri = uri.removeprefix("file://").rstrip("/")
        self._cache = cache_folder
        self._remote = _Remote(self._uri, store) if self._uri.startswith(_SCHEME) else None
        raw = b"".join(self._remote.chunks(MANIFEST)) if self._remote else _local_manifest(Path(self._uri))
        self.manifest = _parse(raw, self._uri)
        self._name = f"{self.manifest.model_version}-{hashlib.sha256(raw).hexdigest()[:16]}"
        self._raw = raw

    def path(self) -> Path:
        """Return the folder with the model's files, downloading them first if need be."""
        if self._remote is None:
            folder = Path(self._uri)
            self._check_sizes(folder)
            return folder
        folder = self._cache / self._name
        if not folder.is_dir():
            self._download(self._remote, folder)
        return folder

    def _check_sizes(self, folder: Path) -> None:
        for name, facts in self.manifest.files.items():
            file = folder / name
            if not file.is_file():
                raise ModelMissingError(f"The model in {folder} has no {name}.")
            if file.stat().st_size != facts.size_bytes:
                raise ModelDamagedError(f"The model's file {file} is not {facts.size_bytes} bytes long.")

    def _download(self, remote: "_Remote", folder: Path) -> None:
        self._cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._cache, prefix="half-") as scratch:
            fresh = Path(scratch) / "model"
            fresh.mkdir()
            for name, facts in self.manifest.files.items():
                _save(remote.chunks(name), fresh / name, facts)
            (fresh / MANIFEST).write_bytes(self._raw)
            try:
                fresh.rename(folder)
            except OSError:  # another process was faster
                if not folder.is_dir():
                    raise


class _Remote:
    def __init__(self, uri: str, store: ObjectStore | None) -> None:
        self._bucket, _, self._prefix = uri.removeprefix(_SCHEME).partition("/")
        config = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 3})
        self._store: ObjectStore = store or boto3.client("s3", config=config)

    def chunks(self, name: str) -> Iterator[bytes]:
        key = f"{self._prefix}/{name}" if self._prefix else name
        try:
            body: Body = self._store.get_object(Bucket=self._bucket, Key=key)["Body"]
            yield from body.iter_chunks(_CHUNK_BYTES)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _ABSENT:
                raise ModelMissingError(f"There is no {key} in the bucket {self._bucket}.") from error
            raise ModelUnavailableError("The model could not be downloaded from S3.") from error
        except (BotoCoreError, IncompleteReadError, OSError) as error:
            raise ModelUnavailableError("The download of the model was interrupted.") from error


def _local_manifest(folder: Path) -> bytes:
    try:
        return (folder / MANIFEST).read_bytes()
    except OSError as error:
        advice = "`make run` assembles the default one in .local/model."
        raise ModelMissingError(f"There is no model in {folder}: it has no {MANIFEST}. {advice}") from error


def _parse(raw: bytes, uri: str) -> Manifest:
    try:
        manifest = Manifest.model_validate_json(raw)
    except ValidationError as error:
        raise ModelMissingError(f"The manifest of the model in {uri} cannot be read.") from error
    for name in manifest.files:
        if Path(name).name != name or name == MANIFEST:
            raise ModelMissingError(f"The manifest of the model in {uri} names a file outside it: {name}.")
    return manifest


def _save(chunks: Iterator[bytes], file: Path, facts: FileFacts) -> None:
    """Write a file, comparing size and SHA-256 on the way; a wrong one is removed."""
    digest, size_bytes = hashlib.sha256(), 0
    with file.open("wb") as out:
        for chunk in chunks:
            digest.update(chunk)
            size_bytes += len(chunk)
            out.write(chunk)
    if size_bytes < facts.size_bytes:
        raise ModelUnavailableError(f"The download of the model's {file.name} ended early.")
    if size_bytes != facts.size_bytes or digest.hexdigest() != facts.sha256:
        raise ModelDamagedError(f"The model's {file.name} is not the file that its manifest describes.")


def facts_of(file: Path) -> FileFacts:
    """Return size and SHA-256 of a file."""
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    return FileFacts(sha256=digest.hexdigest(), size_bytes=file.stat().st_size)


def is_whole(folder: Path) -> bool:
    """Say whether a folder holds a model whose every file is the one its manifest describes."""
    try:
        manifest = _parse((folder / MANIFEST).read_bytes(), str(folder))
        return all(facts_of(folder / name) == facts for name, facts in manifest.files.items())
    except (OSError, ModelMissingError):
        return False


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a model whose files are in place."""
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
