"""What every test may ask for: a migrated PostgreSQL of its own, an SQS endpoint; and no way off this machine."""

import gc
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql

from infra.local.aws import CREDENTIALS
from infra.local.queues import sqs_client
from siftline.kit.db import Connection, Database, Pool
from tests.stack import TEMPLATE_DATABASE, OwnStack, RemoteStack, Stack

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

# Neither how long an example takes nor how fast examples are made says anything but how busy the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

pytest_plugins = ("tests.faults.table",)

_STACK = pytest.StashKey[Stack]()
_TOLD_CHARS = 4_000


class _ToldAtOnce:
    """Writes why a test failed when it did: a run that is stopped before its end has told it, too."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal = self._config.get_terminal_writer()
            terminal.line(f"\n{report.nodeid} failed ({report.when}):\n{report.longreprtext[-_TOLD_CHARS:]}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pooler", action="store_true", help="reach PostgreSQL through PgBouncer in transaction mode")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.option.allow_unix_socket = True  # how workers reach the stack
    if config.getoption("pooler"):  # the tests' own connections prepare nothing either
        vars(psycopg)["connect"] = partial(psycopg.connect, prepare_threshold=None)
    workerinput = getattr(config, "workerinput", None)
    if workerinput is None:
        config.stash[_STACK] = OwnStack()
        config.pluginmanager.register(_ToldAtOnce(config))
    else:
        config.stash[_STACK] = RemoteStack(workerinput["stack_socket"], workerinput["stack_key"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:  # of xdist, which need not be installed
    stack = node.config.stash[_STACK]
    node.workerinput.update(stack_socket=stack.socket_path, stack_key=stack.key)


def pytest_unconfigure(config: pytest.Config) -> None:
    stack = config.stash.get(_STACK, None)
    if isinstance(stack, OwnStack):
        stack.close()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a compressed body holds the second it was made in, and ids must be the same."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among what is imported and collected: nearly all of it stays, now and while tests run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The files that take longest begin first, so that none of them runs alone at the end.
    first = {"e2e", "faults", "house"}
    items.sort(key=lambda item: not (item.get_closest_marker("slow") or item.path.parent.name in first))
    for item in items:
        unit = item.nodeid.startswith("tests/unit/")
        item.add_marker(pytest.mark.disable_socket if unit else pytest.mark.allow_hosts(["127.0.0.1", "::1"]))


@pytest.fixture(scope="session")
def stack(pytestconfig: pytest.Config) -> Stack:
    """The run's real servers."""
    return pytestconfig.stash[_STACK]


@pytest.fixture(scope="session")
def postgres_url(stack: Stack) -> str:
    """A superuser's URL of the run's PostgreSQL server, database ``postgres``."""
    return stack.ask("postgres").rpartition("/")[0] + "/postgres"


@pytest.fixture(scope="session")
def make_database(stack: Stack, postgres_url: str, pytestconfig: pytest.Config) -> Callable[..., str]:
    """Make a database of one's own, by default migrated, and return its URL; it goes with the run's server.

    With ``--pooler`` it leads through PgBouncer, unless ``pooled`` is false, for who changes how sessions begin.
    Its sessions have no limits of time, which are not copied from a template: on a busy machine some rest for long.
    """
    server = postgres_url.rpartition("/")[0]
    way = stack.ask("pooler") if pytestconfig.getoption("pooler") else server

    def make(*, migrated: bool = True, pooled: bool = True) -> str:
        name = f"test_{secrets.token_hex(6)}"
        template = sql.Identifier(TEMPLATE_DATABASE if migrated else "template1")
        _create(postgres_url, sql.SQL("create database {} template {}").format(sql.Identifier(name), template))
        return f"{way if pooled else server}/{name}"

    return make


def _create(postgres_url: str, statement: sql.Composed) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for _ in range(100):
            try:
                connection.execute(statement)
            except psycopg.errors.ObjectInUse:  # whoever made the template is still leaving it
                time.sleep(0.05)
            else:
                return
        connection.execute(statement)


@pytest.fixture(scope="session")
def _worker_database(make_database: Callable[..., str]) -> Iterator[tuple[str, Database]]:
    url = make_database()
    database = Pool(url, size=10)
    yield url, database
    database.close()


def _empty(connection: Connection) -> None:
    """Delete every row, which costs a twentieth of truncating so many tables, of which most are empty.

    The locks wait for whoever is still in a transaction.
    """
    query = "select tablename from pg_tables where schemaname = 'public' and tablename not like '%yoyo%'"
    tables = [sql.Identifier(name) for (name,) in connection.execute(query)]
    connection.execute(sql.SQL("lock table {} in access exclusive mode").format(sql.SQL(", ").join(tables)))
    connection.execute("set local session_replication_role = replica")  # foreign keys and triggers keep still
    filled = sql.SQL(" union all ").join(
        sql.SQL("select {} where exists (select from {})").format(place, table) for place, table in enumerate(tables)
    )
    for (place,) in connection.execute(filled).fetchall():
        connection.execute(sql.SQL("delete from {}").format(tables[place]))


@pytest.fixture
def database_url(_worker_database: tuple[str, Database]) -> str:
    """The URL of this worker's migrated database, emptied for this test."""
    url, database = _worker_database
    with database.transaction() as connection:
        connection.execute("set local lock_timeout = '10s'")
        _empty(connection)
    return url


@pytest.fixture
def sessions_url(database_url: str, postgres_url: str) -> str:
    """The URL of the same database past any pooler: for who ends a session, or asks which one it has."""
    return f"{postgres_url.rpartition('/')[0]}/{database_url.rpartition('/')[2]}"


@pytest.fixture
def database(_worker_database: tuple[str, Database], database_url: str) -> Database:
    """This worker's migrated database, emptied for this test."""
    return _worker_database[1]


@contextmanager
def _reachable() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="siftline-test-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def reachable_path() -> Iterator[Path]:
    """A folder as ``tmp_path``, but one that others may enter: PostgreSQL runs as another user when we are root."""
    with _reachable() as path:
        yield path


@pytest.fixture(scope="module")
def reachable_folder() -> Iterator[Path]:
    """Such a folder for a whole file."""
    with _reachable() as path:
        yield path


@pytest.fixture(scope="session")
def sqs_endpoint(stack: Stack) -> str:
    """The endpoint URL of the run's MiniStack, shared by all tests: make queues of your own in it."""
    return stack.ask("aws")


@pytest.fixture
def sqs(sqs_endpoint: str) -> Iterator["SQSClient"]:
    """A client of the run's MiniStack."""
    client = sqs_client(sqs_endpoint)
    yield client
    client.close()


@pytest.fixture
def aws_environment(sqs_endpoint: str) -> dict[str, str]:
    """What a program needs in its environment to use the run's MiniStack as AWS."""
    return {**CREDENTIALS, "AWS_ENDPOINT_URL": sqs_endpoint}
