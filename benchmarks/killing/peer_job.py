"""The peers' job, run in their own environments: read a page, then leave one effect. libpq's variables say where."""

import os
from http.client import HTTPConnection
from urllib.parse import urlsplit

import psycopg


def read_page(page: int, url: str, worker: str) -> None:
    """Read the page under the worker's name and leave the effect."""
    address = urlsplit(url)
    connection = HTTPConnection(str(address.hostname), address.port, timeout=30)
    connection.request("GET", address.path, headers={"User-Agent": f"{worker}.pid-{os.getpid()}"})
    connection.getresponse().read()
    connection.close()
    with psycopg.connect() as database:
        database.execute("insert into effects (page) values (%s)", [page])
