"""Ending a briefing from a mail: ``/v1/unsubscribe/{token}``, with one click (RFC 8058) or by a button on a page.

Mail scanners follow links; so a GET changes nothing.
"""

from aws_lambda_powertools.event_handler import Response

from siftline.api.briefings import briefings_store as store
from siftline.api.http.link_pages import page, unknown_link
from siftline.api.http.routing import Resource, route
from siftline.kit.db import Database


class UnsubscribeRoutes(Resource):
    """``/v1/unsubscribe/{token}``. Pages for people and mail programs: not in the API's description."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @route("GET /v1/unsubscribe/<token>")
    @route("HEAD /v1/unsubscribe/<token>")
    def show(self, token: str) -> Response[str]:
        """Show what would be stopped, and the button that does it."""
        with self._database.transaction() as connection:
            found = store.find_subscribed(connection, token)
        if found is None:
            return unknown_link()
        if found.stopped_code is not None:
            return _stopped(found.name)
        return page(
            "Stop this briefing?",
            [f"“{found.name}” will no longer be sent to you. You can still read its editions in your account."],
            button="Stop",
        )

    @route("POST /v1/unsubscribe/<token>")
    def stop(self, token: str) -> Response[str]:
        """Stop a briefing's delivery; once more changes nothing and is answered alike."""
        with self._database.transaction() as connection:
            name = store.stop_by_link(connection, token)
        return unknown_link() if name is None else _stopped(name)


def _stopped(name: str) -> Response[str]:
    return page("Briefing stopped", [f"“{name}” is no longer sent to you."])
