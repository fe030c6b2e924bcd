"""Packs one layer or one function of template.yaml, for another Python and processor than this machine's if need be.

``sam build`` calls it through the targets of infra/build.mk. Requirements come as wheels by hash, so no compiler and no
container engine is needed; what Lambda never reads (tests, headers, descriptions of AWS services that we do not call)
is left out. Installed trees are kept under ``.local/packed`` and linked from there while their lock stays the same.

Every module comes with its bytecode: Lambda's disk is read-only, so each cold start would compile all that it imports.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".local" / "packed"
# Lambda's python3.12 and python3.13 run on Amazon Linux 2023 (glibc 2.34); 2.28 is what wheels are made for today.
GLIBC = ("2_28", "2_27", "2_26", "2_24", "2_17", "2_12", "2_5")
OLD_NAMES = {"2_17": "manylinux2014", "2_12": "manylinux2010", "2_5": "manylinux1"}
PROCESSOR = {"x86_64": "x86_64", "arm64": "aarch64"}
# The services that our code calls; botocore describes four hundred, in 26 MB. A house test compares.
AWS_SERVICES = frozenset({"s3", "secretsmanager", "sesv2", "sqs"})
_IN_USE_S = 3_600
LEFT_OUT = ("**/__pycache__", "**/tests", "**/*.pyi", "**/*.pyx", "**/*.pxd", "**/*.h", "bin", "boto3/examples")


@dataclass(frozen=True, slots=True)
class Target:
    """What the package will run on: a Lambda runtime (``python3.13``) and architecture (``x86_64`` or ``arm64``)."""

    runtime: str
    architecture: str

    def pip_options(self) -> list[str]:
        """Return the options that make pip choose wheels for the target instead of for this machine."""
        processor = PROCESSOR[self.architecture]
        names = [f"manylinux_{version}" for version in GLIBC] + list(OLD_NAMES.values())
        platforms = [f"--platform={name}_{processor}" for name in names]
        return ["--implementation=cp", f"--python-version={self.runtime.removeprefix('python')}", *platforms]


def stage_parameters(stage: str) -> dict[str, str]:
    """Return the template's parameters that a stage of samconfig.toml is deployed with."""
    stages = tomllib.loads((ROOT / "samconfig.toml").read_text())
    overrides = stages[stage]["deploy"]["parameters"]["parameter_overrides"]
    return dict(override.split("=", 1) for override in overrides)


def stage_target(stage: str) -> Target:
    """Return what a stage is deployed for, so that a build never differs from its deployment."""
    values = stage_parameters(stage)
    return Target(values["Runtime"], values["Architecture"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill the artifact folder; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, required=True, help="artifact folder; created if missing")
    parser.add_argument("--stage", default="staging", help="stage in samconfig.toml that sets Runtime and Architecture")
    parser.add_argument("--runtime", help="override the stage's runtime, such as python3.11")
    parser.add_argument("--architecture", choices=sorted(PROCESSOR), help="override the stage's architecture")
    parser.add_argument("--lock", type=Path, action="append", default=[], help="requirements to include")
    parser.add_argument("--function", help="function whose handler to include, with siftline; omit for a layer")
    parser.add_argument("--folder", type=Path, action="append", default=[], help="folder of the project to include")
    options = parser.parse_args(arguments)
    try:
        stage = stage_target(options.stage)
    except (KeyError, TypeError):
        parser.error(f"there is no stage {options.stage} in samconfig.toml")
    target = Target(options.runtime or stage.runtime, options.architecture or stage.architecture)
    packages = options.to if options.function else options.to / "python"
    packages.mkdir(parents=True, exist_ok=True)
    for lock in options.lock:
        _copy(installed(ROOT / lock, target), packages)
    if options.function:
        _copy(compiled(ROOT / "shared" / "siftline", target), packages / "siftline")
        own = packages / "functions" / options.function
        _copy(ROOT / "functions" / options.function, own, ignored=("__pycache__",))
        for folder in options.folder:
            _copy(ROOT / folder, packages / folder)
        compile_modules(own, target)
    return 0


def installed(lock: Path, target: Target) -> Path:
    """Return a folder with the lock's packages, pruned; installs them unless that was done before."""
    made_of = (lock.read_text(), target, LEFT_OUT, sorted(AWS_SERVICES), interpreter(target.runtime) is not None)
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]

    def install(fresh: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-compile", "--only-binary=:all:", "--require-hashes", *target.pip_options()]
        command += ["--target", str(fresh), "--requirement", str(lock)]
        subprocess.run(command, check=True)  # noqa: S603  pip, with the arguments written above
        prune(fresh)
        compile_modules(fresh, target)

    return _kept(KEPT / f"{lock.parent.name}-{lock.stem}-{target.runtime}-{target.architecture}-{digest}", install)


def compiled(source: Path, target: Target) -> Path:
    """Return a folder with the source tree and its bytecode, which all functions share; compiles unless that was done.

    What was compiled of an earlier state of the tree goes, unless another build may be reading it now.
    """
    files = sorted(path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    made_of = [(path.relative_to(source).as_posix(), hashlib.sha256(path.read_bytes()).digest()) for path in files]
    made_of.append((str(interpreter(target.runtime)), b""))
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    folder = KEPT / f"{source.name}-{target.runtime}-{digest}"

    def compile_copy(fresh: Path) -> None:
        for other in KEPT.glob(f"{source.name}-{target.runtime}-*"):
            if time.time() - other.stat().st_mtime > _IN_USE_S:
                shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(source, fresh, ignore=shutil.ignore_patterns("__pycache__"))
        compile_modules(fresh, target)

    return _kept(folder, compile_copy)


def _kept(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a folder that is made when it is first asked for."""
    if folder.is_dir():
        return folder
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as scratch:
        fresh = Path(scratch) / "packages"
        make(fresh)
        try:
            fresh.rename(folder)
        except OSError:  # another build of the same was faster
            if not folder.is_dir():
                raise
    return folder


def prune(folder: Path) -> None:
    """Remove what no function reads."""
    _remove(path for pattern in LEFT_OUT for path in sorted(folder.glob(pattern)))
    data = folder / "botocore" / "data"
    if data.is_dir():
        _remove(path for path in data.iterdir() if path.is_dir() and path.name not in AWS_SERVICES)


@cache
def interpreter(runtime: str) -> str | None:
    """Return this machine's Python of a runtime's version; ``None`` where there is none, which is said."""
    if runtime == f"python{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    try:
        subprocess.run([runtime, "-c", ""], capture_output=True, check=True)  # noqa: S603  a name checked by SAM
    except (OSError, subprocess.CalledProcessError):  # a pyenv shim of a version that is not chosen fails, too
        sys.stderr.write(f"package: no {runtime} here, so modules get no bytecode and functions start more slowly\n")
        return None
    return runtime


def compile_modules(folder: Path, target: Target) -> None:
    """Write the bytecode of all modules of a folder, if this machine has the Python that will run them.

    It is taken without a look at the module (PEP 552): times that a zip sets say nothing.
    """
    if (python := interpreter(target.runtime)) is not None:
        command = [python, "-I", "-W", "ignore", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        subprocess.run([*command, "-s", str(folder), str(folder)], check=True)  # noqa: S603  as above


def _remove(paths: Iterable[Path]) -> None:
    for path in list(paths):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


def _copy(source: Path, target: Path, *, ignored: Sequence[str] = ()) -> None:
    patterns = shutil.ignore_patterns(*ignored)
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=patterns, copy_function=_link)


def _link(source: str, target: str) -> None:
    """Give a file a second name instead of copying hundreds of megabytes; copy where the file system cannot."""
    Path(target).unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


if __name__ == "__main__":
    sys.exit(main())
