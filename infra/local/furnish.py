"""What the parts of the local stack need inside: tables, queues, a user with a token, the sample feeds followed."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import psycopg

from infra.local.meters import Meters, read_alarms
from infra.local.queues import MissingQueues, create_queues, sqs_client
from infra.local.sample_library import load_feeds, load_weblog
from infra.local.samples import DEFAULT_PORT, HOST, SampleServer
from infra.local.state import SAMPLES_PORT
from infra.local.swap import mend
from siftline.api.http.authorize import Authorizer
from siftline.jobs.breakers_store import try_all
from siftline.jobs.deletions_store import find
from siftline.jobs.outbox_store import end_leases, lost
from siftline.kit.db import Connection, Database, DatabaseUnavailableError, SingleConnection
from siftline.kit.errors import SiftlineError
from siftline.kit.log import logger
from siftline.models import embedding_store
from siftline.operate.migrate import create_database, migrate
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import make_user, reissue
from siftline.settings.functions import process_environment

if TYPE_CHECKING:
    from infra.local.machine import Machine
    from infra.local.state import State

_log = logger("local")
_SAMPLES_READ = """
select count(*) filter (where contents.status = 'READY'),
  count(*) filter (where contents.status not in ('READY', 'FAILED')),
  (select count(*) from sources where url = any(%(urls)s) and imported_at is null)
from sources join source_entries on source_entries.source_id = sources.id
join contents on contents.id = source_entries.content_id
where sources.url = any(%(urls)s)
"""
_FOLLOWED_AT = """
select url, coalesce(title, '') from sources where starts_with(url, %s)
  and exists (select from subscriptions where source_id = sources.id) order by id
"""
FIRST_USER = "reader"
ALARMS = Path(__file__).resolve().parents[1] / "observability.yaml"


@contextmanager
def told() -> Iterator[None]:
    """Say in a sentence what the database refuses within a block. Raises ``SetUpError``."""
    try:
        yield
    except (psycopg.Error, SiftlineError) as error:
        why = str(error).strip().partition("\n")[0]
        raise SetUpError(f"The database cannot be used: {why}") from error


def database(machine: "Machine") -> None:
    """Create the database, or put right what a restore that was killed left of it, and bring its tables up to date.

    What was set up wrongly in an earlier run is tried anew.
    """
    mend(machine.postgres.url(), machine.database)
    create_database(machine.postgres.url(), machine.database)
    migrate(machine.postgres.url(machine.database))
    with closing(connect(machine)) as database, database.transaction() as transaction:
        try_all(transaction)


class Loss:
    """What is lost with a part, and is told to the database: once that is back, where the same blow met it, too."""

    _event = ""

    def __init__(self, machine: "Machine") -> None:
        self._url = machine.postgres.url(machine.database)
        self._gone_at: datetime | None = None

    def gone(self) -> None:
        """Take it that the part is gone, and what it had."""
        self._gone_at = datetime.now(UTC)
        self.free()

    def free(self) -> None:
        """Let all of it be had again, unless that is done."""
        if self._gone_at is None:
            return
        connection = SingleConnection(self._url)
        try:
            with connection.transaction() as transaction:
                self._tell(transaction, self._gone_at)
            self._gone_at = None
        except DatabaseUnavailableError as error:
            _log.warning(self._event, error_code=error.error_code)
        finally:
            connection.close()

    def _tell(self, transaction: Connection, gone_at: datetime) -> None:
        raise NotImplementedError


class LostLeases(Loss):
    """The leases of workers that are gone: here each was the only one, so nobody needs to wait for their time."""

    _event = "leases_not_freed"

    def _tell(self, transaction: Connection, gone_at: datetime) -> None:
        end_leases(transaction, gone_at)


class LostMessages(Loss):
    """The messages of queues that are gone: what was new is lost with a MiniStack that is killed.

    Call ``gone`` once the queues are back: the next hand-out sends the messages again.
    """

    _event = "messages_not_sent_again"

    def _tell(self, transaction: Connection, gone_at: datetime) -> None:
        lost(transaction, gone_at)


def queues(machine: "Machine") -> None:
    """Create the template's queues."""
    client = sqs_client(machine.aws_url, machine.secret)
    create_queues(client, machine.template.queues())
    client.close()


def missing_queues(machine: "Machine") -> MissingQueues:
    """Return what makes queues again that are missing; the caller closes it."""
    return MissingQueues(sqs_client(machine.aws_url, machine.secret), machine.template.queues())


def token(machine: "Machine", state: "State") -> str:
    """Return the token kept from before, if the database knows it, or a new one of the first user, made if need be."""
    connection = SingleConnection(machine.postgres.url(machine.database))
    try:
        kept = state.token()
        if kept and Authorizer(connection).identify(f"Bearer {kept}"):
            return kept
        with connection.transaction() as transaction:
            known = find(transaction, FIRST_USER)
        made = (reissue if known else make_user)(connection, FIRST_USER).token
        state.keep_token(made)
        return made
    finally:
        connection.close()


def samples(machine: "Machine", state: "State") -> SampleServer:
    """Serve the samples, on the port they had before: their addresses are in the database. Raises ``SetUpError``."""
    port = _samples_port(machine, state)
    try:
        server = SampleServer(port or DEFAULT_PORT)
    except OSError as error:
        if port:
            raise SetUpError(
                f"Port {port}, needed for the sample feeds, is in use: stop the program that uses it."
            ) from error
        server = SampleServer(0)
    (state.folder / SAMPLES_PORT).write_text(server.base_url.rpartition(":")[2], encoding="ascii")
    return server.start()


def follows_samples(machine: "Machine", state: "State") -> bool:
    """Whether somebody still follows sample feeds of an earlier run: unserved, their polls would fail."""
    port = _samples_port(machine, state)
    return port is not None and bool(_followed_at(machine, f"http://{HOST}:{port}/"))


def _samples_port(machine: "Machine", state: "State") -> int | None:
    """Return the port that the samples had before: here or, after a backup was restored here, where it was made."""
    kept = state.folder / SAMPLES_PORT
    if kept.exists():
        return int(kept.read_text(encoding="ascii"))
    if not (followed := _followed_at(machine, f"http://{HOST}:")):
        return None
    now = datetime.now(UTC)
    titles = {feed.name: feed.title for feed in (*load_feeds(now), load_weblog(now))}
    ports = (parts.port for parts, title in followed if titles.get(parts.path.strip("/").partition("/")[0]) == title)
    return next(ports, None)


def _followed_at(machine: "Machine", beginning: str) -> list[tuple[SplitResult, str]]:
    """Return address and title of each source whose address begins so and that somebody follows."""
    with psycopg.connect(machine.postgres.url(machine.database)) as connection:
        return [(urlsplit(url), title) for url, title in connection.execute(_FOLLOWED_AT, [beginning])]


def nobody_holds_anything(machine: "Machine") -> bool:
    """Whether nobody has saved or follows anything yet."""
    with psycopg.connect(machine.postgres.url(machine.database)) as connection:
        row = connection.execute(
            "select not exists (select from items) and not exists (select from subscriptions)"
        ).fetchone()
    return bool(row and row[0])


def connect(machine: "Machine") -> SingleConnection:
    """Return a connection to the database, which the caller closes."""
    return SingleConnection(machine.postgres.url(machine.database))


def samples_ready(database: Database, urls: Sequence[str]) -> int | None:
    """Return how many articles of the sample feeds are READY, once each is read; ``None`` before."""
    try:
        with database.transaction() as transaction:
            row = transaction.execute(_SAMPLES_READ, {"urls": list(urls)}).fetchone()
    except DatabaseUnavailableError as error:
        _log.warning("samples_not_counted", error_code=error.error_code)
        return None
    ready, unread, unpolled = row or (0, 0, 1)
    return None if unread or unpolled or not ready else int(ready)


def meters(machine: "Machine", say: Callable[[str], None]) -> Meters:
    """Begin to publish the queues' figures and to judge the alarms of the template."""
    begun = Meters(
        endpoint=machine.aws_url,
        access_key=machine.secret,
        queues=machine.template.queues(),
        database=SingleConnection(machine.postgres.url(machine.database)),
        alarms=read_alarms(ALARMS, "local"),
        say=say,
    )
    begun.start()
    return begun


def load_model(machine: "Machine", bearer: str) -> None:
    """Search once, in the background: the API loads the embedding model at its first search, which takes seconds.

    Not where a model is asked over an API: that may cost money, and loads nothing.
    """
    with psycopg.connect(machine.postgres.url(machine.database)) as connection:
        active = embedding_store.active(connection)
    if process_environment().get("EMBEDDING_API_MODEL") or (active and active.over_api):
        return
    asked = (machine, bearer, "GET", "/v1/search?q=siftline&limit=1")
    threading.Thread(target=_asked, args=asked, name="load-model", daemon=True).start()


def follow(machine: "Machine", bearer: str, url: str) -> None:
    """Subscribe to a feed, all of its first import included; following it already is no error."""
    status, text = _asked(machine, bearer, "POST", "/v1/sources", {"url": url, "first_import": "all"})
    if status not in (200, 202):
        raise SetUpError(f"The sample feed {url} could not be followed: {text}")


def first_briefing(machine: "Machine", bearer: str) -> str | None:
    """Make a daily briefing and ask for an edition at once, unless there is a briefing already; returns its id."""
    status, text = _asked(machine, bearer, "GET", "/v1/briefings")
    if status != HTTPStatus.OK or json.loads(text)["items"]:
        return None
    wanted = {"name": "Morning briefing", "frequency": "DAILY", "at": "07:00"}
    status, text = _asked(machine, bearer, "POST", "/v1/briefings", wanted)
    made: str = json.loads(text)["id"] if status == HTTPStatus.CREATED else ""
    if not made or _asked(machine, bearer, "POST", f"/v1/briefings/{made}/run")[0] != HTTPStatus.ACCEPTED:
        raise SetUpError(f"The first briefing could not be created: {text}")
    return made


def edition_of(machine: "Machine", bearer: str, briefing_id: str) -> tuple[str, str] | None:
    """Return where the API shows a briefing's newest edition, and its page, once there is one."""
    status, text = _asked(machine, bearer, "GET", f"/v1/editions?briefing_id={briefing_id}&limit=1")
    found = json.loads(text)["items"] if status == HTTPStatus.OK else []
    return (f"{machine.url}/v1/editions/{found[0]['id']}", found[0]["page_url"]) if found else None


def _asked(machine: "Machine", bearer: str, method: str, path: str, body: object = None) -> tuple[int, str]:
    """Ask the API and return its status and text."""
    connection = HTTPConnection(machine.url.removeprefix("http://"), timeout=30)
    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, HTTPException) as error:  # it is being started again, perhaps
        return HTTPStatus.SERVICE_UNAVAILABLE, f"The API did not answer: {error}"
    finally:
        connection.close()
