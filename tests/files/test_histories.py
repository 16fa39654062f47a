"""history.jsonl: what clients saw."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.commands import answered, refused
from tests.history.histories import delivered, published, subscribed

from meshwright.files.histories import read_history, write_history
from meshwright.history.history import History, Oddity, SessionLost


def full_history() -> History:
    history = History()
    history.connected("s", "b1", 5, session_present=False)
    history.connected("s", "b2", 50, session_present=True).ended_us = 900
    subscribed(history, filter_text="a/+", ended_us=800)
    for sequence, topic in ((1, "a/b"), (2, "a/c")):
        published(history, sequence, topic=topic)
        delivered(history, sequence, topic=topic, connection=sequence)
    history.sessions_lost.append(SessionLost(7, "s", "b1", "b2"))
    history.oddities.append(Oddity(7, "s", "b0", "a second CONNACK"))
    return history


def test_a_history_is_read_as_it_was_written(tmp_path: Path) -> None:
    history, path = full_history(), tmp_path / "history.jsonl"
    write_history(history, path)
    assert read_history(path) == history


def test_the_command_judges_a_history(tmp_path: Path) -> None:
    history, path = full_history(), tmp_path / "history.jsonl"
    history.sessions_lost.clear()
    history.oddities.clear()
    write_history(history, path)
    totals = answered("check", path)["totals"]
    assert totals == {
        "attempted": 2, "acknowledged": 2, "delivered": 2,
        "lost": 0, "duplicated": 0, "reordered": 0, "unexpected": 0,
    }  # fmt: skip
    history.deliveries.append(history.deliveries[0])
    write_history(history, path)
    document = answered("check", path, exit_code=1)
    assert document["totals"]["duplicated"] == 1
    assert "got p:1 on a/b" in document["violations"][0]["sentence"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "line 1: "),
        ('{"kind": "heard"}', "line 1: its kind is missing or unknown; write published"),
        ('{"kind": "delivered", "client": "s"}', "line 1: Object missing required field `time_us`"),
        ('{"kind": "published", "sequence": "x"}', "line 1: "),
        (
            '{"kind":"subscribed","client":"s","filter_text":"a/#/b","qos":1,"requested_us":1}',
            "line 1: 'a/#/b': ",
        ),
    ],
)
def test_a_line_that_is_no_fact_is_refused(line: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(f"{line}\n")
    assert sentence in refused("check", path)
