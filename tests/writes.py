"""Finds in SQL which rows a statement writes, and whether it takes them in one order, as far as a program can tell."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import siftline

_WRITE = re.compile(
    r"(?<!for )(?<!key )(?<!do )\bupdate\s+(?P<updated>\w+)\s+(?:as\s+)?(?:(?!set\b)\w+\s+)?set\b"
    r"|\bdelete\s+from\s+(?P<deleted>\w+)|\binsert\s+into\s+(?P<inserted>\w+)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(\w+)\s+as\s+(?:not\s+)?(?:materialized\s+)?\(", re.IGNORECASE)
_LOCKS = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\b", re.IGNORECASE)
_ORDERED = re.compile(r"\border\s+by\b|\bskip\s+locked\b", re.IGNORECASE)
# A column and one value, where what stands in parentheses was taken out.
_VALUE = r"(?:%\(\)s(?:::\w+)?|\(\)|'[^']*'|(\w+)\.\w+)"
_EQUAL = re.compile(
    rf"(?:\w+\.)?(\w+)\s*(?:=|is not distinct from)\s*{_VALUE}(?:\s+(?:for|limit|order|returning)\b.*)?$"
)
_FROM = re.compile(r"\bfrom\s+(\w+)")


@dataclass(frozen=True, slots=True)
class Write:
    """One write of one statement."""

    name: str
    """The statement's module and constant."""
    table: str
    verb: str
    text: str
    """From its verb to its end."""
    parts: Mapping[str, str]
    """The statement's common table expressions by name."""

    def takes_one_row(self, keys: Mapping[str, Sequence[frozenset[str]]]) -> bool:
        """Return whether its condition names a whole unique key, by parameters or by one row found before."""
        if self.verb == "inserted":
            source = self.text.partition("on conflict")[0].partition("select")
            return not source[1] or self._is_one(source[2], keys, found_in=_first(_FROM, _top(source[2])))
        return self._is_one(self.text, keys, found_in=self.table)

    def _is_one(self, text: str, keys: Mapping[str, Sequence[frozenset[str]]], *, found_in: str | None) -> bool:
        """Return whether a part of the statement brings at most one row of a table or a common table expression."""
        top = _top(text)
        if found_in is None:
            return True
        part = self.parts.get(found_in)
        if part is not None and (own := _written(part) or _first(_FROM, _top(part))) != found_in:
            return self._is_one(part, keys, found_in=own)
        condition = top.partition(" where ")[2]
        if not condition or " or " in condition:
            return False
        named = set()
        for one in condition.split(" and "):
            equal = _EQUAL.match(one.strip())
            if equal and (equal[2] is None or self._is_one(f"from {equal[2]}", keys, found_in=equal[2])):
                named.add(equal[1])
        return any(key <= named for key in keys.get(found_in, ()))

    def is_ordered(self) -> bool:
        """Return whether its rows are locked in an order, or what is locked is skipped, before it writes them."""
        if self.verb == "inserted":
            return "on conflict" not in self.text or "order by" in self.text
        seen: dict[str, str] = {"": self.text}
        left = [self.text]
        while left:
            named = {name for name in re.findall(r"\w+", left.pop()) if name in self.parts and name not in seen}
            seen |= {name: self.parts[name] for name in named}
            left += [self.parts[name] for name in named]
        return any(_LOCKS.search(part) and _ORDERED.search(part) for part in seen.values())


def writes() -> list[Write]:
    """Return every write of every statement that stands as a constant in a store."""
    return [write for name, statement in statements() for write in read(name, statement)]


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement that stands as a constant in a store, with its module and name."""
    for module in pkgutil.walk_packages(siftline.__path__, "siftline."):
        if module.name.rpartition(".")[2].endswith("store"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, str) and name.isupper():
                    yield f"{module.name.removeprefix('siftline.')}.{name}", value


def read(name: str, statement: str) -> Iterator[Write]:
    """Yield the writes of one statement."""
    statement = statement.lower()
    parts = {match[1]: _enclosed(statement, match.end()) for match in _NAMED.finditer(statement)}
    for match in _WRITE.finditer(statement):
        verb = match.lastgroup or ""
        yield Write(name, match[verb], verb, _enclosed(statement, match.start()), parts)


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None


def _written(text: str) -> str | None:
    found = _WRITE.match(text.strip())
    return found[found.lastgroup or ""] if found else None


def _top(text: str) -> str:
    """Return a text without what stands in parentheses, its spaces as one."""
    kept, depth = [], 0
    for letter in text:
        depth -= letter == ")"
        if depth == 0:
            kept.append(letter)
        depth += letter == "("
    return re.sub(r"\s+", " ", "".join(kept)).strip()


def _enclosed(text: str, start: int) -> str:
    """Return what stands from a place up to where the parenthesis around it closes."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth < 0:
            return text[start:place]
    return text[start:]


_LOCK = re.compile(r"\bfor\s+(?:no\s+key\s+update|update|key\s+share|share)(?:\s+of\s+(\w+))?(\s+skip\s+locked)?")


def disordered_locks(name: str, statement: str, table: str, key: str) -> list[str]:
    """Return the locks of several rows of a table that a statement does not take in the order of ``key``."""
    statement, found = statement.lower(), []
    for match in _LOCK.finditer(statement):
        select = _top(_around(statement, match.start()))
        of = match[1]
        if not re.search(rf"\b{table}\b" if of in (None, table) else rf"\b{table}\s+(?:as\s+)?{of}\b", select):
            continue
        if of is None and _first(_FROM, select) != table:
            continue
        one_row = re.search(r"\b(?:id|url_key) = %\(\)s", select)
        if not (match[2] or one_row or key in select.partition("order by")[2]):
            found.append(f"{name}: {select}")
    return found


def _around(text: str, place: int) -> str:
    """Return what stands before a place, from where the parenthesis around it opens."""
    depth = 0
    for start in range(place - 1, -1, -1):
        depth += (text[start] == ")") - (text[start] == "(")
        if depth < 0:
            return text[start + 1 : place]
    return text[:place]
