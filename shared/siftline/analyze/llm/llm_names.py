"""The names that a language model told of a text, found in it again: what it made up stands nowhere."""

import re
from collections.abc import Mapping, Sequence

from siftline.analyze.entities.mentions import Kind, Mention
from siftline.analyze.llm.llm_reply import ReplyEntity

_KINDS: Mapping[str, Kind] = {
    "organisation": Kind.ORGANISATION,
    "person": Kind.PERSON,
    "place": Kind.PLACE,
}


class ToldNames:
    """A recogniser (``entities.mentions.Recognizer``) of the names told for one text; other kinds are left."""

    def __init__(self, names: Sequence[ReplyEntity], model_id: str, model_version: str) -> None:
        self._kinds = {" ".join(one.name.split()).casefold(): _KINDS[one.type] for one in names if one.type in _KINDS}
        self.model_id = model_id
        self.model_version = model_version

    def recognize(self, text: str, language: str | None) -> Sequence[Mention]:  # noqa: ARG002 - as recognisers are asked
        """Return where these names stand, whole words only; where one holds another, the longer."""
        if not self._kinds:
            return []
        longest_first = sorted(self._kinds, key=lambda name: (-len(name), name))
        names = "|".join(r"\s+".join(map(re.escape, name.split())) for name in longest_first)
        found = re.finditer(rf"(?<!\w)(?:{names})(?!\w)", text, re.IGNORECASE)
        return [
            Mention(match.start(), match.end(), self._kinds[name])
            for match in found
            if (name := " ".join(match.group().split()).casefold()) in self._kinds
        ]
