from __future__ import annotations

import pytest
from hash_seeds import outputs_under_two_hash_seeds
from machines import LoneBroker

from meshwright.errors import ProblemError
from meshwright.model.overlay import Overlay
from meshwright.sim.runs.replay import replay_command
from meshwright.sim.runs.simulation import TOTALS, simulate, summed
from meshwright.sim.scenario.parameters import SimulationParameters

SMALL = SimulationParameters(design="chord", brokers=4, clients=6, duration_s=3, settle_max_s=15)


def lone_broker(name: str, overlay: Overlay) -> LoneBroker:
    """A broker that tells no other broker anything."""
    del name, overlay
    return LoneBroker()


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm", "tree"])
def test_a_quiet_network_fails_no_checker(design: str) -> None:
    result = simulate(SimulationParameters(design=design, brokers=5, clients=8, duration_s=3), 1)
    assert result.failures == ()
    assert tuple(result.totals) == TOTALS
    assert result.totals["delivered"] > result.totals["acknowledged"] > 0
    assert result.messages["publication"] > 0


def test_a_failure_names_its_seed_its_replay_and_its_story() -> None:
    result = simulate(SMALL, 7, lone_broker)
    (failure,) = result.failures
    assert (failure.seed, failure.checker) == (7, "lost")
    assert failure.count == result.totals["lost"]
    assert failure.command == replay_command(SMALL, 7)
    assert "never got" in failure.sentences[0]
    assert any("Publish(" in line for line in failure.story)


def test_totals_and_messages_of_many_seeds_add_up() -> None:
    results = [simulate(SMALL, seed, lone_broker) for seed in (1, 2)]
    totals, messages = summed(results)
    assert totals["lost"] == sum(result.totals["lost"] for result in results)
    assert tuple(totals) == TOTALS
    assert messages == {}


def test_a_replay_command_names_all_that_is_not_as_usual() -> None:
    parameters = SimulationParameters(
        design="harary", faults=("crash", "skew"), reconfigure=True, mobility="standard", k=3,
        duration_s=0.1 + 0.2, changes_per_s=7.0, roams=False,
    )  # fmt: skip
    assert replay_command(parameters, 12) == (
        "meshwright simulate --design harary --duration 0.30000000000000004 --faults crash,skew "
        "--reconfigure --mobility standard --k 3 --set changes_per_s=7.0 --set roams=false "
        "--seeds 12"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"brokers": 0},
        {"clients": 0},
        {"duration_s": float("nan")},
        {"faults": ("x",)},
        {"changes_per_s": -1.0},
        {"publications_per_s": float("inf")},
        {"retained_share": 1.5},
        {"qos_weights": (0.0, 0.0, 0.0)},
        {"filters_per_client": -1},
    ],
    ids=str,
)
def test_what_cannot_be_simulated_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ProblemError):
        SimulationParameters(**{"design": "tree", **wrong})


def test_the_same_seed_gives_the_same_records_whatever_the_hash_seed() -> None:
    program = (
        "from meshwright.sim.runs.simulation import SimulationParameters, simulate;"
        "parameters = SimulationParameters(design='gm', duration_s=4,"
        " faults=('crash', 'partition', 'disconnect', 'skew'), settle_max_s=20);"
        "result = simulate(parameters, 3); print(result)"
    )
    assert len(outputs_under_two_hash_seeds(program)) == 1
