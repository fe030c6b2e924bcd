"""Takes from a process what it does not need to read a stranger's bytes, where the kernel allows it (Linux).

What seccomp refuses cannot be had back, and holds for every thread and child. Landlock keeps it from writing files,
from starting programs, and from seeing, tracing or ending processes outside: ``/proc/<parent>/environ`` among them.
Both need no privilege, and what privileges there are go first: root's would see through.
Sources: seccomp(2), landlock(7), capset(2), ``linux/landlock.h``, ``asm/unistd_64.h``.
"""

import ctypes
import errno
import os
import struct

NETWORK, FILES = "network", "files"
"""What can be taken away: connections of any kind; files to write, programs to start, other processes."""

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _IS, _AT_LEAST, _END = 0x20, 0x15, 0x35, 0x06  # the instructions of classic BPF that are used
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EACCES
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # in ``struct seccomp_data``
_X32 = 0x40000000
# By machine: its name for the kernel's audit, and its numbers of socket, socketpair and io_uring_setup.
_MACHINES = {"x86_64": (0xC000003E, (41, 53, 425)), "aarch64": (0xC00000B7, (198, 199, 425))}

_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF, _LANDLOCK_VERSION = 444, 446, 1
# Rights over files by the version of Landlock that knows them: all that write, make, remove or execute; not to read.
_FILE_RIGHTS = ((1, 0b1_1111_1111_0011), (2, 1 << 13), (3, 1 << 14))
_CAPABILITIES_VERSION = 0x20080522
_SCOPES_SINCE, _SCOPES = 6, 0b11
"""Abstract sockets and signals of processes outside."""


def enclose() -> tuple[str, ...]:
    """Take all of it from this process, for good; returns what was taken. What the kernel refuses stays."""
    libc = ctypes.CDLL(None, use_errno=True)
    none = ctypes.create_string_buffer(24)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.capset(struct.pack("Ii", _CAPABILITIES_VERSION, 0), none):
        return ()
    return tuple(name for name, take in ((FILES, _take_files), (NETWORK, _take_network)) if take(libc))


def _take_network(libc: ctypes.CDLL) -> bool:
    """Have the kernel refuse to make sockets, and the ring by which they are made without a system call."""
    known = _MACHINES.get(os.uname().machine)
    if known is None:
        return False
    architecture, numbers = known
    refused = [_step(_IS, number, then=len(numbers) - place) for place, number in enumerate(numbers)]
    program = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_IS, architecture, then=1),
        _step(_END, _KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_AT_LEAST, _X32, then=len(numbers) + 1),
        *refused,
        _step(_END, _ALLOW),
        _step(_END, _REFUSE),
    ]
    code = ctypes.create_string_buffer(b"".join(program))
    filter_of = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_of, 0, 0) == 0)


def _step(code: int, value: int, *, then: int = 0) -> bytes:
    """Return an instruction; a comparison that holds skips ``then`` of those that follow."""
    return struct.pack("HBBI", code, then, 0, value)


def _take_files(libc: ctypes.CDLL) -> bool:
    version = libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    rights = sum(right for since, right in _FILE_RIGHTS if version >= since)
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    if version < 1:
        return False
    rules = struct.pack("QQQ", rights, 0, scopes)[: 24 if scopes else 8]
    descriptor = libc.syscall(_LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(rules), len(rules), 0)
    if descriptor < 0:
        return False
    try:
        return bool(libc.syscall(_LANDLOCK_RESTRICT_SELF, descriptor, 0) == 0)
    finally:
        os.close(descriptor)
