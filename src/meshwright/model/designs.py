"""The designs: each is named once, in this table, with what it is and what it can do.

Every room and every command reads the table; none has a list of its own. A row is data: planning's
functions are named and not imported, as planning stands above this room, and only
`meshwright.planning.designs` follows the names. A name may go on with parameters, as in
`tapestry:base=4`: that is a variant, too, and every command that takes a design takes it so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from meshwright.errors import ProblemError
from meshwright.model.design_parameters import (
    PARAMETERS,
    SEPARATOR,
    read_params,
    refuse_param,
    written,
)
from meshwright.model.overlay import Overlay, Parameter

ForwardingKind = Literal["rendezvous", "partition", "topic_connected", "acyclic"]
PlacementRule = Literal["none", "similarity"]
AdaptationRule = Literal["none", "ocbr"]

DEFAULT_DESIGN = "chord"
# Twice the links of an inner broker of a 4-ary tree: without a limit, adaptation ends in a star.
OCBR_DEGREE_MAX = 10
# As many brokers below the first as there ever are.
STAR_FANOUT = 1_000_000
BRIDGED = ("mesh", "star")
# Links of a full mesh grow with the square of brokers; nobody bridges more by hand.
MESH_BROKERS_MAX = 200
NOW = "now"  # the name of what stands today, in a comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """One design.

    forwarding: the machine that carries its frames. geometry: one of overlays' key geometries,
    hypercube, graph or tree; it says how an overlay grows by a broker. build: the planning function
    build(design, snapshot, rng=, **params) that makes an overlay, as module:function; with k= where
    forwarding is topic_connected. choose_links: of such a design, the function of interests that
    its builder calls; relink: the one of links, interests and changed brokers by which its links
    follow interests, None where they are chosen anew. params: those that may be asked for. k: from
    k_least to k_most, any if that is None; k_own where none is asked for. can_adapt: whether
    brokers may redraw it by themselves.

    A variant is another design, its base, with the parameters of given. Its overlays are the
    base's; placement and adaptation are what its brokers do besides. is_baseline: it is compared,
    simulated and swarmed only where it is named. remark: a clause for whoever may take its name for
    something else.
    """

    forwarding: ForwardingKind
    geometry: str
    build: str
    choose_links: str | None = None
    relink: str | None = None
    params: tuple[str, ...] = ()
    k_least: int = 1
    k_most: int | None = 1
    k_own: int = 1
    can_adapt: bool = False
    base: str | None = None
    given: dict[str, Parameter] = field(default_factory=dict)
    placement: PlacementRule = "none"
    adaptation: AdaptationRule = "none"
    is_baseline: bool = False
    remark: str = ""

    def can_be_asked(self, k: int) -> bool:
        """Whether the design can be built for k."""
        return self.k_least <= k and (self.k_most is None or k <= self.k_most)


def _on_keys(geometry: str, *params: str) -> Design:
    return Design(
        forwarding="rendezvous",
        geometry=geometry,
        build="meshwright.planning.overlay_builders:on_key_geometry",
        params=("arrangement", "delay_weight", *params),
    )


def _linked(
    choose_links: str, *params: str, k_least: int = 1, k_most: int | None = 1, k_own: int = 1
) -> Design:
    return Design(
        forwarding="topic_connected",
        geometry="graph",
        build="meshwright.planning.overlay_builders:topic_connected",
        choose_links=f"meshwright.planning.topic_connected.{choose_links}",
        params=params,
        k_least=k_least,
        k_most=k_most,
        k_own=k_own,
    )


_CHORD = _on_keys("chord")
# How filters spread on a tree.
_SPREADING = ("covering", "advertisements", "contents_max")
_TREE = Design(
    forwarding="acyclic",
    geometry="tree",
    build="meshwright.planning.overlay_builders:on_tree",
    params=("fanout", "adapted", "degree_max", *_SPREADING),
    can_adapt=True,
)
_HIERARCHY = Design(
    forwarding="acyclic",
    geometry="tree",
    build="meshwright.planning.overlay_builders:on_hierarchy",
    params=("fanout", "root", *_SPREADING),
)
_ADVERTISED: dict[str, Parameter] = {"advertisements": True, "contents_max": 8}


def _arranged(method: str) -> Design:
    return replace(_CHORD, base="chord", given={"arrangement": method}, placement="similarity")


DESIGNS: dict[str, Design] = {
    "chord": _CHORD,
    "dynatops": _arranged("best"),
    "tapestry": _on_keys("tapestry", "base", "neighbours"),
    "pastry": _on_keys("pastry", "base", "leaf_count"),
    "quadtree": replace(
        _on_keys("quadtree"),
        build="meshwright.planning.overlay_builders:on_map",
        params=("arrangement", "cell_degrees"),
    ),
    "hypercube": Design(
        forwarding="partition",
        geometry="hypercube",
        build="meshwright.planning.overlay_builders:on_hypercube",
        params=("low_bit_count", "events", "subscriptions"),
    ),
    "gm": _linked("greedy:gm", "tie"),
    "gm2": _linked("greedy:gm2", "tie", k_least=2, k_most=2, k_own=2),
    "harary": _linked("circulants:harary", "order", k_most=None, k_own=2),
    "cycle": _linked("circulants:cycle", k_least=2, k_most=2, k_own=2),
    "dcbm": replace(
        _linked("greedy:dcbm", "part_count", "bulk_topic_count"),
        relink="meshwright.planning.topic_connected.relinking:dcbm_relinked",
    ),
    "minmax": _linked("greedy:minmax"),
    "best": _linked("best:best", k_least=2, k_most=None, k_own=2),
    "tree": _TREE,
    "ocbr": replace(
        _TREE,
        base="tree",
        given={"adapted": True, "degree_max": OCBR_DEGREE_MAX},
        adaptation="ocbr",
    ),
    "hierarchy": _HIERARCHY,
    # What origins publish is advertised, so that only filters that match it go there.
    "tree-advertised": replace(_TREE, base="tree", given=_ADVERTISED, is_baseline=True),
    "hierarchy-advertised": replace(
        _HIERARCHY, base="hierarchy", given=_ADVERTISED, is_baseline=True
    ),
    # What people join by hand today; rows of every comparison.
    "mesh": replace(
        _linked("circulants:mesh", k_most=None),
        is_baseline=True,
        remark="it is routed as other graphs are, not as bridges would: a broker that does not "
        "want a topic hands its publication to one that does, which sends it to the others",
    ),
    "star": replace(
        _TREE, base="tree", given={"fanout": STAR_FANOUT}, can_adapt=False, is_baseline=True
    ),
    # The paper's other methods of arrangement.
    "dynatops-greedy": replace(_arranged("dynatops-greedy"), is_baseline=True),
    "ssbr-greedy": replace(_arranged("ssbr-greedy"), is_baseline=True),
    "lsap": replace(_arranged("lsap"), is_baseline=True),
}


def design(name: str) -> Design:
    """The design of a name, which may go on with parameters: name:parameter=value:..."""
    if name in DESIGNS:
        return DESIGNS[name]
    row, asked = _asked(name)
    return replace(row, base=joined_as(name), given={**row.given, **asked})


def check_k(name: str, k: int | None) -> None:
    """Refuse a k that the design cannot be built for; None is its own."""
    if k is not None and not design(name).can_be_asked(k):
        able = [other for other, entry in DESIGNS.items() if entry.can_be_asked(k)]
        advice = f"choose {' or '.join(able)}" if able else "k is 1 or more"
        raise ProblemError(f"The design {name} cannot be built for k = {k}; {advice}.")


def full_name(name: str) -> str:
    """The one way to write a design's name: its parameters in the order of the table."""
    _, asked = _asked(name)
    return SEPARATOR.join((bare_name(name), *(f"{one}={written(asked[one])}" for one in asked)))


def bare_name(name: str) -> str:
    """The name of a design's row in the table, without parameters."""
    return name.partition(SEPARATOR)[0].strip()


def _asked(name: str) -> tuple[Design, dict[str, Parameter]]:
    """The row of a name, and what the name asks for beside it."""
    bare, *texts = name.split(SEPARATOR)
    row = DESIGNS.get(bare.strip())
    if row is None:
        raise ProblemError(
            f"There is no design {bare.strip()!r}; choose one of {', '.join(DESIGNS)}."
        )
    return row, read_params(bare.strip(), texts, row.params)


def candidates() -> tuple[str, ...]:
    """The designs that are compared, simulated and swarmed where none is named."""
    return tuple(name for name, row in DESIGNS.items() if not row.is_baseline)


def chosen_designs(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """The designs of a list, or of a text with commas, in the table's order.

    None, or the word all, stands for the candidates.
    """
    listed = names.split(",") if isinstance(names, str) else names
    if listed is None:
        return candidates()
    wanted = [name.strip() for name in listed if name.strip()]
    if wanted == ["all"]:
        return candidates()
    if not wanted:
        raise ProblemError("The list of designs is empty; name one, several with commas, or all.")
    order = list(DESIGNS)
    full = dict.fromkeys(full_name(name) for name in wanted)
    return tuple(sorted(full, key=lambda name: order.index(bare_name(name))))


def compared_designs(
    names: str | Sequence[str] | None, broker_count: int | None = None
) -> tuple[str, ...]:
    """The designs of a list, and beside them what people join by hand."""
    wanted = chosen_designs(names)
    added = [name for name in BRIDGED if name not in wanted]
    if broker_count is not None and broker_count > MESH_BROKERS_MAX:
        added = [name for name in added if name != "mesh"]
    return (*wanted, *added)


def check_params(name: str, params: Iterable[str]) -> None:
    """Refuse a parameter that a design has not."""
    known = design(name).params
    for param in params:
        if param not in known:
            refuse_param(name, param, known)


def asking(name: str, param: str, value: Parameter) -> str:
    """The name of a design with a value for a parameter, if it takes that and asks for none."""
    row = design(name)
    if param not in row.params or param in row.given:
        return name
    return full_name(f"{name}{SEPARATOR}{param}={written(value)}")


def begun_with(name: str) -> dict[str, Parameter]:
    """The parameters of a design that hold before anything is known of what brokers want."""
    given = design(name).given.items()
    return {param: value for param, value in given if not PARAMETERS[param].is_fitting}


def joined_as(name: str) -> str:
    """The design that overlays of a design are of: its own, or its base."""
    bare = bare_name(name)
    return DESIGNS[bare].base or bare


def founded_as(overlay: Overlay) -> str:
    """The design that an overlay was built as: the variant whose parameters it has, or its own."""
    for name, row in DESIGNS.items():
        if row.base == overlay.design and row.given.items() <= overlay.params.items():
            return name
    return overlay.design


def check_adaptable(name: str) -> None:
    """Refuse a design that brokers cannot fit to their traffic by themselves."""
    if not design(name).can_adapt:
        able = [other for other, row in DESIGNS.items() if row.can_adapt]
        raise ProblemError(
            f"Brokers on the design {name!r} cannot adapt it by themselves; "
            f"take {' or '.join(map(repr, able))}."
        )
