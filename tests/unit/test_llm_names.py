"""The names that a language model told, found again in the text."""

from siftline.analyze.entities.mentions import Kind, named_in
from siftline.analyze.llm.llm_reader import ToldNames
from siftline.analyze.llm.llm_reply import ReplyEntity

TEXT = "Ada Byron left Acme  Ltd for Acme in Berlin. BERLIN is not Berliner. Ada Byron was there."


def told(*names: tuple[str, str]) -> ToldNames:
    made = [ReplyEntity.model_validate({"name": name, "type": kind}) for name, kind in names]
    return ToldNames(made, "small-model", "prompt-1")


def test_names_are_found_as_they_stand_whole_and_the_longer_first() -> None:
    names = told(("Ada Byron", "person"), ("Acme", "organisation"), ("Acme Ltd", "organisation"), ("Berlin", "place"))

    found = [(TEXT[one.start : one.end], one.kind) for one in names.recognize(TEXT, "en")]

    assert found == [
        ("Ada Byron", Kind.PERSON),
        ("Acme  Ltd", Kind.ORGANISATION),
        ("Acme", Kind.ORGANISATION),
        ("Berlin", Kind.PLACE),
        ("BERLIN", Kind.PLACE),
        ("Ada Byron", Kind.PERSON),
    ]


def test_what_stands_nowhere_and_other_kinds_are_left_out() -> None:
    assert told(("Nobody Inc", "organisation"), ("Berlin", "event")).recognize(TEXT, "en") == []
    assert told().recognize(TEXT, None) == []


def test_they_are_gathered_as_those_of_any_recogniser() -> None:
    named = named_in(TEXT, told(("Ada Byron", "person"), ("Berlin", "place")), "en", limit=5)
    assert [(one.name, one.mentions) for one in named] == [("Ada Byron", 2), ("Berlin", 2)]
