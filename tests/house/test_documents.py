"""What documents name exists: make targets, environment variables, linked files and headings, the files of a walk."""

import re
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from siftline.settings import functions
from tests.house.reading import ROOT, document, function_resources, python_files, relative, tracked_files

DOCUMENTS = [path for path in tracked_files() if path.suffix == ".md"]
MAKEFILES = [ROOT / "Makefile", ROOT / "infra" / "build.mk"]
TARGETS = {
    target
    for makefile in MAKEFILES
    for names in re.findall(r"^([a-z][\w -]*):(?!=)", makefile.read_text(encoding="utf-8"), re.MULTILINE)
    for target in names.split()
}
# Read by programs that are not ours, and named in documents.
FOREIGN = re.compile(r"^(AWS|POWERTOOLS|LOCALSTACK|PYTHON|LAMBDA|SAM|QDRANT__|PG|PIP|SSL|OPENBLAS|LC|GIT)_")
VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`")


def _known_variables() -> set[str]:
    """Return every setting, every variable of a make target and every name that SQL, SQS or the template gives."""
    classes = [
        value for value in vars(functions).values() if isinstance(value, type) and issubclass(value, BaseSettings)
    ]
    fields = {field.upper() for kind in classes for field in kind.model_fields}
    variable = r"\$\((?:call (?:option|flag|quoted),)?([A-Z_]+)[,)]"
    made = {name for path in MAKEFILES for name in re.findall(variable, path.read_text(encoding="utf-8"))}
    template = {name for _, function in function_resources().values() for name in function["Environment"]["Variables"]}
    return fields | made | template


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_make_target_that_a_document_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    typed = re.findall(r"`make ([a-z][a-z-]*)", text)
    for block in re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE):
        typed += re.findall(r"^[$ ]*make ([a-z][a-z-]*)", block, re.MULTILINE)

    assert set(typed) <= TARGETS


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_environment_variable_that_a_document_names_is_a_setting(path: Path) -> None:
    named = {name for name in VARIABLE.findall(path.read_text(encoding="utf-8")) if not FOREIGN.match(name)}

    assert named <= _known_variables()


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_file_that_a_document_links_to_exists(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))

    assert not [link for link in links if not (path.parent / link).exists()]


def _anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_heading_that_a_document_links_to_exists(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", path.read_text(encoding="utf-8"))

    assert not [
        f"{name}#{anchor}" for name, anchor in links if anchor not in _anchors(path.parent / name if name else path)
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_python_file_that_a_document_names_exists(path: Path) -> None:
    named = re.findall(r"`([\w./]+\.py)`", path.read_text(encoding="utf-8"))
    ours = [f"/{relative(file)}" for file in python_files(ROOT)]

    assert not [name for name in named if not any(file.endswith(f"/{name}") for file in ours)]


def test_the_steps_of_the_walks_are_counted() -> None:
    text = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")
    walks = [re.findall(r"^(\d+)\. `", walk, re.MULTILINE) for walk in text.split("\n## ")[1:]]

    assert len(walks) == 2
    for steps, stated in zip(walks, re.findall(r"^(\d+) files\.", text, re.MULTILINE), strict=True):
        assert [int(step) for step in steps] == list(range(1, int(stated) + 1))


def test_every_target_that_make_help_lists_is_phony() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in MAKEFILES)
    shown = set(re.findall(r"^([a-z][a-z-]*):.*## ", text, re.MULTILINE))
    phony = {name for line in re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE) for name in line.split()}

    assert shown <= phony


def test_every_parameter_of_the_template_is_used_and_described_by_its_name_or_a_sentence() -> None:
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")

    for name in document()["Parameters"]:
        assert re.search(rf"!Ref {name}\b|\$\{{{name}\}}", text), name
