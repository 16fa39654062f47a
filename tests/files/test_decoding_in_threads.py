"""Threads read documents at once, each of which may be the first of its kind in the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from meshwright.manager.orders.saved_plans import PlanStore

# A process of its own, in which nothing was read yet. A second thread reads the same
# plan while the first is in the middle of finding out which fields there are.
READS_AT_ONCE = """
import sys, threading
from pathlib import Path
from meshwright.manager.orders.saved_plans import PlanStore

store = PlanStore(Path(sys.argv[1]))
names, calls, others = [], [], []

def read():
    names.append(store.plan("p1").id)

def meanwhile(frame, event, _):
    if event == "call" and frame.f_code.co_name == "get_class_annotations":
        calls.append(frame)
        if len(calls) == 2:
            sys.setprofile(None)
            others.append(threading.Thread(target=read))
            others[0].start()
            others[0].join(0.2)

sys.setprofile(meanwhile)
read()
sys.setprofile(None)
others[0].join()
print(*names)
"""


def test_two_threads_may_read_the_first_plans_at_once(tmp_path: Path) -> None:
    PlanStore(tmp_path).add(0, "running")
    ended = subprocess.run(
        [sys.executable, "-c", READS_AT_ONCE, str(tmp_path)], capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout.decode().split()) == (0, ["p1", "p1"]), ended.stderr
