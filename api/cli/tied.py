"""`python -m commonlore.api.cli.tied PARENT MODULE`: run a module that ends when its parent does, even when that was killed.

Linux only: the kernel sends SIGTERM when the parent ends. Elsewhere the module just runs. It runs at a lower priority than its parent.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1
# Work in the background yields to the calls that the same machine serves.
NICENESS = 10


def tie(parent: int) -> bool:
    """From now on this process gets SIGTERM when its parent ends. False where it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
        return os.getppid() == parent
    return True


def main() -> None:
    parent, module = int(sys.argv[1]), sys.argv[2]
    if not tie(parent):
        return
    os.nice(NICENESS)
    sys.argv = [module]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
