"""Whatever was run can be run again from the words that are printed."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import pytest
from commands import answered, call, refused

from meshwright.lab.swarm import cases, mixed
from meshwright.model.adaptation import AdaptationOptions, BrokerCost, LinkCost, StatedCosts
from meshwright.protocol.sessions.publishing import Publishing
from meshwright.sim.runs import simulation
from meshwright.sim.runs.replay import replay_command
from meshwright.sim.scenario.parameters import SimulationParameters

SMALL = ("simulate", "--design", "tree", "--brokers", "3", "--clients", "4", "--duration", "2")


def words_of(command: str) -> list[str]:
    program, *words = shlex.split(command)
    assert program == "meshwright"
    return words


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[SimulationParameters, int]]:
    """What the command would simulate."""
    found: list[tuple[SimulationParameters, int]] = []
    nothing = simulation.SimulationResult(totals={}, messages={}, failures=(), digest="")

    def note(parameters: SimulationParameters, seed: int) -> simulation.SimulationResult:
        found.append((parameters, seed))
        return nothing

    monkeypatch.setattr(simulation, "simulate", note)
    return found


def other_values() -> dict[str, Any]:
    """For every parameter a value that is not the usual one."""
    return {
        "brokers": 5, "clients": 7, "duration_s": 1 / 3, "faults": ("crash", "ambush"),
        "reconfigure": True, "adapts": True, "gathers": True, "mobility": "prefetching+device",
        "k": 1, "topics": 3,
        "filters_per_client": 1, "publications_per_s": 0.1, "changes_per_s": 2.5,
        "moves_per_s": 1e-3, "qos_weights": (0.1, 0.2, 0.7), "wildcard_share": 0.3,
        "content_share": 0.0, "shared_share": 0.25, "retained_share": 1.0, "persistent_share": 0.5,
        "roams": False, "tight": True, "forgets": True, "settle_max_s": 12.5,
        "will_share": 0.3, "doubles_per_s": 0.5, "ordered": True,
        "adaptation": AdaptationOptions(link_weight=3, degree_max=0, move_clients=True),
        "costs": StatedCosts(links=(LinkCost("b0", "b1", 7),), brokers=(BrokerCost("b2", 4),)),
    }  # fmt: skip


def test_every_parameter_is_read_back_from_the_command(
    asked: list[tuple[SimulationParameters, int]],
) -> None:
    fields = {one.name for one in msgspec.structs.fields(SimulationParameters)}
    assert set(other_values()) == fields - {"design"}
    given = [SimulationParameters(**{"design": "tree", **one}) for one in ({}, other_values())]
    given += [mixed(case) for case in cases(("chord", "tree"), range(1, 4))]
    for seed, parameters in enumerate(given):
        assert call(*words_of(replay_command(parameters, seed))).exit_code == 0
    assert asked == [(parameters, seed) for seed, parameters in enumerate(given)]


def test_the_printed_command_gives_the_very_same_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Publishing, "publish", forgetful(Publishing.publish))
    first = answered(
        *SMALL, "--faults", "disconnect", "--set", "changes_per_s=3.5", "--mobility", "logging",
        "--seeds", "3..4", exit_code=1,
    )  # fmt: skip
    failure = first["failures"][0]
    again = answered(*words_of(failure["command"]), exit_code=1)
    assert again["failures"][0] == failure


def forgetful(publish: Any) -> Any:
    """A broker that sends one publication in ten astray."""

    def publish_some(self: Any, turn: Any, session: Any, packet: Any) -> None:
        if packet.qos == 1 and packet.payload.endswith(b"3"):
            packet = msgspec.structs.replace(packet, topic="nowhere")
        publish(self, turn, session, packet)

    return publish_some


def test_a_wrong_setting_is_one_sentence() -> None:
    assert "no setting 'topic'; choose from topics" in refused(*SMALL, "--set", "topic=3")
    assert "write topics=VALUE" in refused(*SMALL, "--set", "topics=many")
    assert "no setting 'design'" in refused(*SMALL, "--set", "design=chord")
    assert "retained_share = 2.0 is no share" in refused(*SMALL, "--set", "retained_share=2")
