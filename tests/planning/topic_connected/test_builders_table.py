"""Every design by name goes through the same laws."""

from __future__ import annotations

import numpy as np
import pytest
from topic_connected_twins import as_tuples, holds, random_interests

from meshwright.errors import CallerError, ProblemError
from meshwright.model.designs import DESIGNS
from meshwright.model.interests import interests_from_sets
from meshwright.planning.topic_connected.builders import build_links

CHOOSING = [name for name, row in DESIGNS.items() if row.choose_links is not None]
CASES = [
    (design, k)
    for design in CHOOSING
    for k in range(DESIGNS[design].k_least, (DESIGNS[design].k_most or 6) + 1)
]


@pytest.mark.parametrize(("design", "k"), CASES)
def test_every_design_holds_every_k_it_supports(design: str, k: int) -> None:
    for seed in range(3):
        interests = random_interests(seed, share=0.2 + 0.2 * seed)
        links = build_links(design, interests, k=k, rng=np.random.default_rng(seed))
        assert links.dtype == np.int32
        assert (links[:, 0] < links[:, 1]).all()
        assert len(np.unique(links, axis=0)) == len(links)
        assert holds(as_tuples(links), interests, k)


@pytest.mark.parametrize("design", CHOOSING)
def test_the_same_seed_gives_the_same_links(design: str) -> None:
    interests = random_interests(2)
    first, second = (build_links(design, interests, rng=np.random.default_rng(8)) for _ in range(2))
    assert as_tuples(first) == as_tuples(second)


# A mesh asks nobody what it wants.
@pytest.mark.parametrize("design", [name for name in CHOOSING if name != "mesh"])
@pytest.mark.parametrize("rows", [[], [[]], [[0]], [[], [], []], [[0], [1]]])
def test_networks_with_nothing_to_join_get_no_links(design: str, rows: list[list[int]]) -> None:
    interests = interests_from_sets(rows, 2)
    assert build_links(design, interests, rng=np.random.default_rng(0)).shape == (0, 2)


@pytest.mark.parametrize(("design", "k"), [("gm", 2), ("gm2", 1), ("cycle", 3), ("best", 1)])
def test_an_unsupported_k_is_refused_and_others_are_named(design: str, k: int) -> None:
    with pytest.raises(ProblemError, match=f"{design} cannot be built for k = {k}, only .*harary"):
        build_links(design, random_interests(0), k=k, rng=np.random.default_rng(0))


def test_k_larger_than_the_network_is_refused() -> None:
    with pytest.raises(ProblemError, match="k = 31 is larger than the network of 30 brokers"):
        build_links("harary", random_interests(0), k=31, rng=np.random.default_rng(0))


def test_unknown_designs_and_parameters_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ProblemError, match="There is no design 'wheel'; choose one of chord"):
        build_links("wheel", random_interests(0), rng=rng)
    with pytest.raises(CallerError, match="chord does not choose links; choose one of gm, gm2"):
        build_links("chord", random_interests(0), rng=rng)
    with pytest.raises(ProblemError, match="harary has no parameter 'tie'; it takes order"):
        build_links("harary", random_interests(0), rng=rng, tie="pair")
