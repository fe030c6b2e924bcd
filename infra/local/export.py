"""Write all that is a user's into a file: ``make export USER=Ada OUT=ada.json``, in the shape of ``GET /v1/export``."""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

from infra.local.answer import run
from siftline.api.account.export_store import everything
from siftline.kit.db import Database
from siftline.kit.errors import SiftlineError
from siftline.operate.set_up_error import SetUpError
from siftline.operate.user_command import open_database, user_named

_ROWS, _CHARS = 500, 20_000_000


def export(database: Database, word: str, out: Path) -> int:
    """Write a user's records into a new file that only its owner can read; returns how many. Raises ``SetUpError``."""
    with database.transaction() as connection:
        user_id = user_named(connection, word)
    part = out.with_name(f"{out.name}.part")
    count = 0
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        with part.open("w", encoding="utf-8") as file, database.transaction() as connection:
            file.write('{"items": [')
            for record in everything(connection, user_id, limit=_ROWS, chars=_CHARS):
                file.write(",\n" if count else "\n")
                json.dump({"kind": record.kind, "data": record.data}, file, ensure_ascii=False)
                count += 1
            file.write('\n], "next": null}\n')
        part.rename(out)
    except OSError as error:
        raise SetUpError(f"{out} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def main(arguments: list[str]) -> int:
    """Export as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(prog="make export", usage="make export USER=name-or-id OUT=file.json")
    parser.add_argument("--user", required=True, help="name or id")
    parser.add_argument("--out", required=True, help="file to create")
    if "--user=" in arguments or "--out=" in arguments:  # as the Makefile passes what was not typed
        parser.error("set both USER=… and OUT=… on the command line")
    chosen = parser.parse_args(arguments)
    out = Path(chosen.out)
    try:
        if out.exists():
            raise SetUpError(f"{out} already exists: choose another file name.")
        with closing(open_database()) as database:
            count = export(database, chosen.user, out)
    except (SiftlineError, SetUpError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} records in {out}")
    return 0


if __name__ == "__main__":
    run(main, beside=True)
