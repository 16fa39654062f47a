"""Brokers are asked by many threads at once, each of which may be the first to read an answer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
from live_network import running_brokers

# A process of its own, in which no answer was read yet. A second thread reads one while the first
# is in the middle of finding out which fields answers have.
READS_AT_ONCE = """
import sys, threading
from pathlib import Path
from meshwright.live.operating.control_client import BrokerControl

answer = sys.stdin.buffer.read()
BrokerControl._ask = lambda *_, **__: answer
names, calls, others = [], [], []

def read():
    names.append(BrokerControl(Path("broker")).view().broker)

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


def test_two_threads_may_read_the_first_answers_at_once(tmp_path: Path) -> None:
    async def answer() -> tuple[str, bytes]:
        async with running_brokers("chord", tmp_path, 1) as (broker,):
            return broker.host.name, msgspec.json.encode(broker.host.view())

    name, said = asyncio.run(answer())
    ended = subprocess.run(
        [sys.executable, "-c", READS_AT_ONCE], input=said, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout.decode().split()) == (0, [name, name])
