from __future__ import annotations

import re

import numpy as np

from meshwright.lab.replay_report import EXPLANATION, HISTORIES, ReplayFindings, report_page
from meshwright.planning.replay_judgement import ReplayedCandidate, ReplayWish, judge_replay


def candidate(design: str, messages: float, placement: str = "static") -> ReplayedCandidate:
    return ReplayedCandidate(
        placement=placement, design=design, publications=10, deliveries=20.0,
        subscription_changes=3, management_messages=4, messages_internal=messages,
        messages_external=0.0, messages_entry=0.0, messages_repair=0.0,
        notification_overhead=messages, delay_hops=messages, delay_tree_hops=messages,
        delay_ms=None, hand_overs=0, load_mean=2.0, load_deviation=1.0, reconfigurations=0,
        reconfiguration_messages=0.0, degree_mean=2.0, degree_max=2, k_held=1, load_spread=1.0,
    )  # fmt: skip


def test_a_page_explains_its_own_headings_and_names_every_design() -> None:
    candidates = [candidate("chord", 4.0, placement="<static>"), candidate("gm", 2.0)]
    page = report_page(
        ReplayFindings(
            title="trace replayed",
            told="two slots",
            candidates=candidates,
            recommendation=judge_replay(candidates, ReplayWish(), broker_count=4),
            histories={"static": {name: [0.0, 1.0] for name in HISTORIES}},
            slot_begins=np.array(["2010-08-01T00", "2010-08-01T01"], dtype="datetime64[us]"),
        )
    ).decode()
    headings = re.findall("<th class='[a-z]*'>(.*?)</th>", page)
    for explained in (
        "subscription changes", "management", "load deviation", "reconfiguration", "price",
        "messages", "relays", "delay", "links",
    ):  # fmt: skip
        assert explained in headings
        assert explained in EXPLANATION.lower()
    assert EXPLANATION in page
    rows = [re.findall("<td .*?>(.*?)</td>", row) for row in page.split("<tr class=")[1:]]
    assert [row[1] for row in rows] == ["gm", "chord"]
    assert "<static>" not in page
    assert page.index("<mark>best</mark> gm") < page.index("chord <small>&lt;static&gt;")
    assert [row[2] for row in rows] == ["best", "yes"]
    assert {len(row) for row in rows} == {len(headings)}
    assert {row[headings.index("delay, ms")] for row in rows} == {"-"}
