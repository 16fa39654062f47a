from __future__ import annotations

import pytest
from hash_seeds import outputs_under_two_hash_seeds
from machines import LoneBroker

from meshwright.history.duplicated import duplicated
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.history.unexpected import unexpected
from meshwright.history.violation import Violation
from meshwright.model.overlay import Overlay
from meshwright.sim.runs.run import Run, run
from meshwright.sim.runs.story import Story
from meshwright.sim.scenario.parameters import SimulationParameters

FAULTY = SimulationParameters(
    design="tree",
    brokers=1,
    clients=8,
    duration_s=8,
    faults=("crash", "disconnect", "skew"),
    mobility="standard",
    content_share=0.2,
    settle_max_s=20.0,
)


def lived(seed: int, forgets: str = "", story: Story | None = None) -> Run:
    def build(name: str, overlay: Overlay) -> LoneBroker:
        del name, overlay
        return LoneBroker(forgets=forgets)

    return run(FAULTY, seed, build, witness=story)


def found(done: Run) -> list[Violation]:
    history = done.world.history
    return [*lost(history), *duplicated(history), *reordered(history), *unexpected(history)]


@pytest.mark.parametrize("seed", range(10))
def test_a_broker_that_keeps_its_promises_passes_under_faults(seed: int) -> None:
    done = lived(seed)
    assert found(done) == []
    assert len(done.world.history.deliveries) > 100
    assert done.faults


@pytest.mark.parametrize(
    ("forgets", "checker"),
    [
        ("one", "lost"),
        ("sessions", "lost"),
        ("disk", "lost"),
        ("order", "reordered"),
        ("received", "duplicated"),
        ("filters", "unexpected"),
    ],
)
def test_a_broker_that_neglects_a_duty_is_found_out(forgets: str, checker: str) -> None:
    assert any(
        checker in {one.checker for one in found(lived(seed, forgets))} for seed in range(40)
    )


def test_the_story_of_a_loss_tells_who_sent_it_and_what_broke_around_it() -> None:
    violation = next(one for one in found(lived(1, "one")) if one.event is not None)
    assert violation.event is not None
    story = Story(violation)
    again = found(lived(1, "one", story))
    assert violation in again
    told = "\n".join(story.told())
    publisher, sequence = violation.event
    assert f"{publisher} -> b0: Publish(" in told
    assert f"payload={publisher}:{sequence}," in told
    assert "b0 crashes" in "\n".join(story.told()) or "breaks" in told


def test_nothing_is_left_undone_when_a_run_ends() -> None:
    done = lived(3)
    assert all(client.is_settled for client in done.world.clients.values())


def test_the_same_seed_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "from test_runs import lived; done = lived(5);"
        "print(done.world.records.digest(), done.world.history.digest(), done.faults)"
    )
    assert len(outputs_under_two_hash_seeds(program)) == 1


def test_seeds_differ() -> None:
    assert len({lived(seed).world.history.digest() for seed in range(3)}) == 3
