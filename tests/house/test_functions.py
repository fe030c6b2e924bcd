"""Every function of the template is there, is callable, is given what its settings ask for, and is thin."""

import ast
import importlib
import subprocess
import sys

import pytest

from tests.house.reading import FUNCTION_NAMES, FUNCTIONS, ROOT, document, function_resources, settings_of, tree

# Read by Powertools itself, in every function.
COMMON_VARIABLES = {"POWERTOOLS_SERVICE_NAME", "AWS_ENDPOINT_URL"}
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.comprehension)


def test_the_template_deploys_every_function_folder_and_nothing_else() -> None:
    assert sorted(function_resources()) == FUNCTION_NAMES


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_handler_path_of_the_template_imports_and_is_callable(name: str) -> None:
    _, properties = function_resources()[name]
    module, _, attribute = properties["Handler"].rpartition(".")

    assert callable(getattr(importlib.import_module(module), attribute))


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_the_environment_of_a_function_is_its_settings(name: str) -> None:
    fields = settings_of(name).model_fields
    variables = set(function_resources()[name][1]["Environment"]["Variables"]) - COMMON_VARIABLES

    assert variables <= {field.upper() for field in fields}, "the template sets what no setting reads"
    required = {field.upper() for field, about in fields.items() if about.is_required()}
    assert required <= variables, "a setting without default is not set by the template"


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_every_parameter_that_an_environment_names_exists(name: str) -> None:
    known = {*document()["Parameters"], *document()["Resources"], *document()["Conditions"]}

    assert set(_references(function_resources()[name][1]["Environment"])) <= known


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_function_folder_holds_one_file(name: str) -> None:
    files = [path.name for path in (FUNCTIONS / name).iterdir() if path.name != "__pycache__"]

    assert files == ["app.py"]
    assert ast.get_docstring(tree(FUNCTIONS / name / "app.py"))


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_a_handler_file_has_no_branch_and_calls_nothing_when_imported(name: str) -> None:
    module = tree(FUNCTIONS / name / "app.py")

    assert not [ast.unparse(node) for node in ast.walk(module) if isinstance(node, BRANCHES)]
    top = [type(node) for node in module.body]
    assert set(top) <= {ast.Expr, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign}
    assigned = [node.value for node in module.body if isinstance(node, ast.Assign)]
    assert all(isinstance(value, ast.Constant) for value in assigned)
    assert {node.name for node in module.body if isinstance(node, ast.FunctionDef)} == {"build", "handler"}


@pytest.mark.parametrize("name", FUNCTION_NAMES)
def test_importing_a_handler_reads_no_settings_and_opens_no_connection(name: str) -> None:
    code = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "shared")!r}]
import socket
socket.socket.connect = lambda *_: sys.exit("opened a connection")
import siftline.settings.functions as settings
def refuse(*_, **__):
    sys.exit("read its settings")
settings.Settings.__init__ = refuse
import functions.{name}.app as app
assert app.build.cache_info().currsize == 0
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], env={}, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["Ref"]] if "Ref" in value and not value["Ref"].startswith("AWS::") else []
        own += [value["Fn::If"][0]] if "Fn::If" in value else []
        return own + [name for item in value.values() for name in _references(item)]
    if isinstance(value, list):
        return [name for item in value for name in _references(item)]
    return []
