from __future__ import annotations

from commands import answered, call, refused

from meshwright.cli.experiments.simulate import seed_range
from meshwright.protocol.mobility.policies import POLICIES
from meshwright.sim.scenario.faults import FAULTS

SMALL = ("simulate", "--design", "tree", "--brokers", "3", "--clients", "4", "--duration", "2")


def test_the_answer_holds_totals_messages_and_failures() -> None:
    document = answered(*SMALL, "--seeds", "0..1")
    assert set(document) == {
        "command", "totals", "messages", "failures", "qos0_dropped_in_changes",
    }  # fmt: skip
    assert list(document["totals"]) == [
        "attempted", "acknowledged", "delivered", "lost", "duplicated", "reordered", "unexpected",
    ]  # fmt: skip
    assert document["totals"]["delivered"] > 0
    assert document["failures"] == []


def test_people_read_that_nothing_was_found() -> None:
    result = call(*SMALL, "--faults", "crash,skew")
    assert result.exit_code == 0
    assert "No checker found anything." in result.stdout


def test_the_help_names_every_fault_and_policy() -> None:
    shown = " ".join(call("simulate", "--help").stdout.split())
    assert not [name for name in (*FAULTS, *POLICIES) if name not in shown]


def test_seeds_are_one_number_or_a_range() -> None:
    assert seed_range("7") == range(7, 8)
    assert seed_range("3..5") == range(3, 6)


def test_bad_input_is_one_sentence() -> None:
    assert "write the first and the last" in refused(*SMALL, "--seeds", "a..b")
    assert "ends before it begins" in refused(*SMALL, "--seeds", "5..3")
    assert "no fault 'flood'" in refused(*SMALL, "--faults", "flood")
    assert "k = 3" in refused(*SMALL, "--k", "3")


def test_only_a_tree_adapts_by_itself() -> None:
    document = answered(*SMALL, "--adapt", "--faults", "crash")
    assert document["failures"] == []
    document = answered(*SMALL, "--adapt", "--alpha", "2", "--move-clients", "--iterations", "9")
    assert document["failures"] == []
    chord = ("simulate", "--design", "chord", "--brokers", "3", "--clients", "4")
    assert "cannot adapt it by themselves" in refused(*chord, "--adapt")
