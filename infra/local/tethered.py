"""Becomes another program that the kernel signals when its starter is gone (prctl(2), PR_SET_PDEATHSIG).

    python tethered.py STARTER SIGNAL UID GID PROGRAM ARGUMENT…

A file of its own, run as a script: doing this between fork and exec of a process with threads can deadlock it. UID and
GID are those to change to, or ``-``. The kernel ties the signal to the starting *thread*: start from one that stays.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(starter: str, signal_number: str, uid: str, gid: str, *command: str) -> None:
    """Change the user, ask for the signal, and become the program."""
    if uid != "-":
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))  # before the signal is asked for: a change of user would take it back
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
    if os.getppid() != int(starter):  # it went before the call above
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606  -- the program is our caller's


if __name__ == "__main__":
    main(*sys.argv[1:])
