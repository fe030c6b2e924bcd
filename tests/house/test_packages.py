"""What is deployed runs by itself: packed functions import with nothing but their layers, and fit Lambda."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import pytest

from infra.package import AWS_SERVICES
from tests.house.reading import FUNCTION_NAMES, FUNCTIONS, ROOT, document, reachable
from tests.packing import build, packed

# Code and layers of a function, unzipped (AWS Lambda quotas).
UNZIPPED_MAX_BYTES = 250 * 1024 * 1024
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages() -> Iterator[Mapping[str, list[Path]]]:
    """Every function of the template, packed for this interpreter: its own folder first, then its layers."""
    with packed(FUNCTION_NAMES) as found:
        yield found


def _size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_imports_with_nothing_but_its_layers(name: str, packages: Mapping[str, list[Path]]) -> None:
    paths = [str(path) for path in packages[name]]
    modules = sorted(_module(path) for path in reachable(FUNCTIONS / name / "app.py"))  # late imports included
    program = f"""
import sys
sys.path[:0] = {paths!r}
import importlib
for module in {modules!r}:
    importlib.import_module(module)
files = [getattr(module, "__file__", None) for module in sys.modules.values()]
import json; print(json.dumps([file for file in files if file]))
"""
    clean = {"PATH": os.defpath, "POWERTOOLS_SERVICE_NAME": name}
    command = [sys.executable, "-I", "-S", "-B", "-c", program]  # -S: no site-packages; -B: nothing is compiled
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean, cwd=paths[0])

    assert done.returncode == 0, done.stderr
    foreign = [file for file in json.loads(done.stdout) if "site-packages" in file or str(ROOT / "shared") in file]
    assert not foreign


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part not in {"shared", "__init__"})


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_fits_lambda(name: str, packages: Mapping[str, list[Path]]) -> None:
    size_bytes = sum(map(_size_bytes, packages[name]))

    assert size_bytes < UNZIPPED_MAX_BYTES, f"{size_bytes / 1e6:.0f} MB"


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_holds_its_own_handler_and_no_other(name: str, packages: Mapping[str, list[Path]]) -> None:
    code = packages[name][0]

    assert [path.name for path in (code / "functions").iterdir()] == [name]
    assert not [path for path in code.rglob("*") if path.name in {".env", "tests"}]


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_packed_function_need_not_compile_what_it_imports(name: str, packages: Mapping[str, list[Path]]) -> None:
    for folder in packages[name]:
        modules = {path for path in folder.rglob("*.py") if not path.stem.count(".")}
        bytecode = {Path(cache_from_source(str(path))) for path in modules}

        assert bytecode == {*folder.rglob("*.pyc")}
        # PEP 552: by its hash, which is not compared with the module's (flags 1)
        assert {path.read_bytes()[:8] for path in bytecode} <= {MAGIC_NUMBER + (1).to_bytes(4, "little")}
        assert not [path for path in bytecode if str(ROOT).encode() in path.read_bytes()]


def test_the_runtime_layer_describes_only_the_aws_services_that_are_called(packages: Mapping[str, list[Path]]) -> None:
    data = packages["api"][1] / "botocore" / "data"

    assert {path.name for path in data.iterdir() if path.is_dir()} == AWS_SERVICES


def test_this_machine_packs_for_the_runtime_of_the_template_whatever_its_own_python(tmp_path: Path) -> None:
    runtime = document()["Parameters"]["Runtime"]["Default"]

    compiled = list(build("RuntimeLayer", tmp_path, runtime).rglob("*.so"))

    assert compiled
    tag = runtime.replace("python", "cpython-").replace(".", "")
    tagged = [path.name for path in compiled if "cpython-" in path.name]
    assert tagged
    assert all(tag in name for name in tagged)
