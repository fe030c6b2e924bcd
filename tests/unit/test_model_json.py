"""The JSON object of a language model's reply is found in whatever stands around it."""

import json

import pytest

from siftline.models.llm import json_object

KEYS = ("summary", "receipt")
SAID = {"summary": 'It says "{so}".', "receipt": "abc", "parts": [{"name": "x"}]}
BARE = json.dumps(SAID)


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        json.dumps(SAID, indent=2),
        f"\ufeff \n{BARE}\n",
        f"```json\n{BARE}\n```",
        f"```JSON\r\n{BARE}\r\n```\r\n",
        f"```\n{BARE}\n```\nThat is all.",
        f"~~~\n{BARE}\n~~~",
        f"`{BARE}`",
        f"```json\n{BARE}",
        f"<think>Let me see: {{not json}} and {{}}.</think>{BARE}",
        f"<think>A draft: {json.dumps({**SAID, 'receipt': 'draft'})}</think>\n```json\n{BARE}\n```",
        f"The prompt opened the thoughts, so only their end is here.</think>\n{BARE}",
        f"<thinking>\n…\n</thinking>\n\n{BARE}",
        f"<reasoning>…</reasoning>{BARE}",
        f"[THINK]…[/THINK]{BARE}",
        f"<|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>{BARE}<|return|>",
        f"Here is the JSON you asked for:\n{BARE}",
        f"{BARE}\nI hope this helps! :-}}",
        f"{BARE}\n\nNote: {{braces}} are not JSON, {{}} is.",
        f"First a draft.\n{json.dumps({**SAID, 'receipt': 'draft'})}\nBetter:\n{BARE}",
        f'{{"answer": {BARE}}}',
        f"[{BARE}]",
    ],
)
def test_an_object_is_found_in_what_a_model_says_around_it(text):
    assert json_object(text, KEYS) == SAID


def test_a_line_break_within_a_string_is_read_as_one():
    assert json_object('{"summary": "one\ntwo", "receipt": "abc"}', KEYS) == {"summary": "one\ntwo", "receipt": "abc"}


def test_keys_too_many_stay_for_whoever_asked_to_judge():
    assert json_object('{"summary": "s", "receipt": "r", "confidence": 1}', KEYS) == {
        "summary": "s",
        "receipt": "r",
        "confidence": 1,
    }


def test_the_end_of_thoughts_within_the_json_itself_ends_nothing():
    said = {"summary": "Models write </think> after their thoughts.", "receipt": "abc"}

    assert json_object(json.dumps(said), KEYS) == said


def test_what_lacks_a_key_is_found_for_its_fault_to_be_told():
    assert json_object('```json\n{"summary": "s"}\n```', KEYS) == {"summary": "s"}


@pytest.mark.parametrize(
    "text", ["", "Sure!", "{", "}{", "{'summary': 1}", '["summary", "receipt"]', "{" * 5_000, '{"a":' * 20_000, "1" * 9]
)
def test_what_holds_no_object_has_none(text):
    assert json_object(text, KEYS) is None
