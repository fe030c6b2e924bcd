"""Who has not shown MiniStack's secret is dropped after a while, or where there are too many; who has is kept."""

import asyncio
import contextvars
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from infra.local.strangers import Strangers


class Timers:
    """What is to be done later, until it is told."""

    def __init__(self) -> None:
        self.due: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, after_s: float, drop: Callable[[], None]) -> Any:
        self.due.append((after_s, drop))
        return self

    def cancel(self) -> None:
        """Keep it, to see that it does no harm."""

    def ring(self) -> list[float]:
        due, self.due = self.due, []
        for _, drop in due:
            drop()
        return [after_s for after_s, _ in due]


async def greets(scope: Any, receive: Any, send: Any) -> None:
    await send(scope["type"])


def show_secret(strangers: Strangers, context: contextvars.Context, kind: str = "http") -> None:
    async def receive() -> dict[str, Any]:
        return {}

    async def send(_: Any) -> None:
        """Nobody reads it."""

    async def ask() -> None:
        await strangers.introducing(greets)({"type": kind}, receive, send)

    context.run(lambda: asyncio.run(ask()))


def connect(strangers: Strangers, stack: ExitStack, name: str, dropped: list[str]) -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(stack.enter_context, strangers.connection(lambda: dropped.append(name)))
    return context


def test_a_stranger_is_dropped_after_ten_seconds_and_who_showed_the_secret_is_not() -> None:
    timers, dropped = Timers(), list[str]()
    strangers = Strangers(later=timers)
    with ExitStack() as stack:
        known = connect(strangers, stack, "known", dropped)
        connect(strangers, stack, "stranger", dropped)
        show_secret(strangers, known)
        show_secret(strangers, known)
        assert timers.ring() == [10, 10]
        assert dropped == ["stranger"]
    with ExitStack() as stack:
        connect(strangers, stack, "gone", dropped)
    timers.ring()
    assert dropped == ["stranger"]


def test_of_too_many_connections_the_stranger_goes_that_came_first() -> None:
    dropped: list[str] = []
    strangers = Strangers(later=Timers(), connections_max=3)
    with ExitStack() as stack:
        known = connect(strangers, stack, "known", dropped)
        show_secret(strangers, known)
        for name in "abcd":
            connect(strangers, stack, name, dropped)
        assert dropped == ["a", "b"]
    with ExitStack() as stack:
        for name in "efg":
            show_secret(strangers, connect(strangers, stack, name, dropped))
        assert dropped == ["a", "b"]
        connect(strangers, stack, "one too many", dropped)
        assert dropped == ["a", "b", "one too many"]


def test_the_start_of_the_server_is_no_connection() -> None:
    show_secret(Strangers(later=Timers()), contextvars.copy_context(), "lifespan")
