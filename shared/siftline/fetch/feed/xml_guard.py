"""A quick look at XML before it is really parsed: what is built to hurt is refused while that is still cheap.

One linear pass of expat. What is not well-formed is let through at its first fault: the lenient parser reads it, under
the time and memory limits of the child process.
"""

from xml.parsers import expat

from siftline.fetch.feed.feeds import FeedTooComplexError

DEPTH_MAX = 256
ATTRIBUTES_MAX = 256
ENTITIES_MAX = 512
NAMESPACES_MAX = 512
NODES_MAX = 800_000
"""Elements and attributes, of which a feed at the size cap could have millions: each costs a tree some 200 bytes."""
_TOO_MANY = f"The feed has more than {NODES_MAX} elements and attributes."


def check_shape(body: bytes) -> None:
    """Raise ``FeedTooComplexError`` for floods of elements, attributes, levels or entities, or nested entities."""
    parser = expat.ParserCreate()
    shape = _Shape()
    parser.StartElementHandler = shape.start
    parser.EndElementHandler = shape.end
    parser.EntityDeclHandler = shape.entity
    try:
        parser.Parse(body, True)  # noqa: FBT003 - expat takes it by place only
    except (expat.ExpatError, ValueError, LookupError) as error:
        if body.count(b"<") > NODES_MAX:
            raise FeedTooComplexError(_TOO_MANY) from error


def check_size(body: bytes) -> None:
    """Raise ``FeedTooComplexError`` for a flood of elements and attributes; texts that look like some are none."""
    if body.count(b"<") + body.count(b"=") > NODES_MAX:
        check_shape(body)


class _Shape:
    def __init__(self) -> None:
        self._depth = 0
        self._entities = 0
        self._nodes = 0
        self._namespaces: set[tuple[str, str]] = set()

    def start(self, _name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise FeedTooComplexError(f"The feed is nested more than {DEPTH_MAX} levels deep.")
        if len(attributes) > ATTRIBUTES_MAX:
            raise FeedTooComplexError(f"An element of the feed has more than {ATTRIBUTES_MAX} attributes.")
        self._nodes += 1 + len(attributes)
        if self._nodes > NODES_MAX:
            raise FeedTooComplexError(_TOO_MANY)
        if attributes:
            self._namespaces.update(pair for pair in attributes.items() if pair[0].startswith("xmlns"))
            if len(self._namespaces) > NAMESPACES_MAX:
                raise FeedTooComplexError(f"The feed declares more than {NAMESPACES_MAX} namespaces.")

    def end(self, _name: str) -> None:
        self._depth -= 1

    def entity(
        self,
        _name: str,
        _is_parameter: bool,  # noqa: FBT001 - expat calls it so
        value: str | None,
        *_external: str | None,
    ) -> None:
        self._entities += 1
        if self._entities > ENTITIES_MAX or (value is not None and "&" in value):
            raise FeedTooComplexError("The feed declares nested XML entities.")
