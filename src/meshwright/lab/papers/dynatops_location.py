"""The location model of DYNATOPS: users who wander over a map and follow cells [DYNATOPS, IV].

Figure 6: management against the size of clusters, load, hand-overs, delay, overhead; figure 9: the
period between reconfigurations. The paper's trace is not public; ours is the generated stand-in of
`meshwright.pipeline.generators.location`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from meshwright.lab.experiments.experiment import Claim, Experiment, Plot, Sweep, about
from meshwright.lab.replays.reading import PlainTrace, cell_visits, read_trace, tables_of_model
from meshwright.lab.replays.replaying import Pair, plain_replay
from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.replays.parameters import (
    InterestParameters,
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.planning.placement.clusters import exchange_messages

PAPER = "dynatops"
STAND_IN = "The paper's trace is not public; ours is made up and was tuned to these five numbers."
HOUR_S = 3600
DAY_H = 24
DAY_US = DAY_H * HOUR_S * 1_000_000
SOUTH, WEST = 25.0, -125.0  # whole cells of 1 and of 5 degrees begin here
BASES = (4, 16)
GEOPS, DYNATOPS, OURS = "GeoPS", "DYNATOPS(BS+BNR)", "ours"
BAYEUX = {
    kind: tuple(f"Bayeux({kind}), base {base}" for base in BASES)
    for kind in ("static", "loc", "loc+PNS")
}


def systems(cell_degrees: float) -> dict[str, Pair]:
    """Placement and design of each system of the paper, and ours.

    The base of Bayeux is not printed; a larger one has shorter ways.
    """
    meshes: dict[str, Pair] = {}
    for base in BASES:
        mesh = f"tapestry:base={base}"
        meshes[f"Bayeux(static), base {base}"] = ("static", mesh)
        meshes[f"Bayeux(loc), base {base}"] = ("location", mesh)
        meshes[f"Bayeux(loc+PNS), base {base}"] = ("location", f"{mesh}:neighbours=nearest")
    return {
        **meshes,
        GEOPS: ("location", f"quadtree:cell_degrees={cell_degrees:g}"),
        "DYNATOPS(BS)": ("similarity", "chord"),
        "DYNATOPS(BNR)": ("location", "dynatops-greedy"),
        DYNATOPS: ("similarity", "dynatops-greedy"),
        OURS: ("similarity-bounded", "dynatops"),
    }


def measure_systems(
    *,
    seed: int,
    names: str = "all",
    rows: int,
    columns: int,
    cell_degrees: float,
    users: int,
    days: float,
    cluster_size: int = 10,
    load_weight: float = 1.0,
    delay_weight: float = 1.0,
    update_h: float = 6.0,
    free_days: float = 7.0,
    warmup_days: float | None = None,
) -> Sequence[Mapping[str, Any]]:
    """A row for each system; the first days, in which no system has been planned, are not counted.

    update_h: T_update, free_days: T_free. warmup_days: those first days, free_days if not named.
    names: of systems, with | between them, or all.
    """
    chosen = systems(cell_degrees)
    if names != "all":
        chosen = {name: chosen[name] for name in names.split("|")}
    epoch_slots = round(free_days * DAY_H / update_h)
    first_slot = epoch_slots if warmup_days is None else round(warmup_days * DAY_H / update_h)
    wish = ReplayParameters(
        seed=seed,
        time=TimeParameters(
            slot_s=round(update_h * HOUR_S), epoch_slots=epoch_slots, warmup_slots=first_slot
        ),
        interests=InterestParameters(source="location", cell_degrees=cell_degrees),
        placement=PlacementParameters(cluster_size=cluster_size, load_weight=load_weight),
        overlay=OverlayParameters(delay_weight=delay_weight),
    )
    model = LocationParameters(
        users=users, rows=rows, columns=columns, cell_degrees=cell_degrees, days=days, seed=seed,
        south=SOUTH, west=WEST,
    )  # fmt: skip
    read = read_trace(tables_of_model(model), wish)
    found = plain_replay(read, wish, list(chosen.values())).comparison
    by_pair = {(row["placement"], row["design"]): row for row in found.to_dict("records")}
    clusters = read.brokers.clusters(cluster_size, seed)
    exchanged = exchange_messages(clusters) * (read.timeline.slot_count - first_slot)
    leaving = _left_clusters(read, clusters, first_slot)
    return [
        {"system": name, "left_clusters": leaving, **_measured(by_pair[pair], exchanged)}
        for name, pair in chosen.items()
    ]


def _left_clusters(read: PlainTrace, clusters: Any, first_slot: int) -> int:
    """How often people go where another cluster is; who is back within a slot keeps its broker."""
    homes = read.homes.sort_values(["client", "time"])
    here = pd.Series(clusters[homes.broker.to_numpy()], index=homes.index)
    former = here.groupby(homes.client).shift()
    begin_us = read.timeline.origin_us + first_slot * read.timeline.slot_us
    return int((former.notna() & (former != here) & (homes.time >= begin_us)).sum())


def _measured(row: Mapping[str, Any], exchanged: float) -> dict[str, float]:
    """What the paper counts, of one row of a comparison; messages and delays of a publication."""
    told = exchanged if str(row["placement"]).startswith("similarity") else 0.0
    brokers_each = row["deliveries"] / row["publications"]
    return {
        "management_messages": float(row["management_messages"]),
        "tree_messages": float(row["management_messages"] - told),
        "subscription_changes": float(row["subscription_changes"]),
        "hand_overs": float(row["hand_overs"]),
        "load_deviation": float(row["load_deviation"] / row["load_mean"]),
        "overhead": float(row["notification_overhead"]),
        "brokers_each": float(brokers_each),
        "delay_ms": float(row["delay_ms"]),
        "delay_hops": float(row["delay_hops"]),
        "delay_summed_ms": float(row["delay_ms"] * brokers_each),
        "delay_summed_hops": float(row["delay_hops"] * brokers_each),
        "reconfigurations": float(row["reconfigurations"]),
        "reconfiguration_messages": float(row["reconfiguration_messages"]),
    }


def measure_trace(*, seed: int, users: int) -> Mapping[str, float]:
    """What the paper says of its trace, of the stand-in."""
    visits = cell_visits(tables_of_model(LocationParameters(users=users, seed=seed)), 1.0)
    visits = visits.sort_values(["client", "time"])
    stays_us = (visits.groupby("client").time.shift(-1) - visits.time).dropna()
    times = visits.groupby(["client", "north", "east"]).size()
    return {
        "visits_each": len(visits) / users,
        "cells_each": len(times) / users,
        "once_percent": 100 * float((times == 1).mean()),
        "short_percent": 100 * float((stays_us < DAY_US).mean()),
        "long_percent": 100 * float((stays_us > 7 * DAY_US).mean()),
    }


def value(rows: pd.DataFrame, system: str, column: str) -> float:
    """The mean of a column over the rows of a system; not a number if there are none."""
    return float(rows.loc[rows.system == system, column].mean())


def saved(column: str, against: str, system: str = DYNATOPS) -> Callable[[pd.DataFrame], float]:
    """By how many per cent a system has less of something than another."""
    return lambda rows: 100.0 * (1.0 - value(rows, system, column) / value(rows, against, column))


def _mean_of(rows: pd.DataFrame, column: str) -> float:
    return float(rows[column].mean())


def _least_hand_overs(rows: pd.DataFrame) -> float:
    return 100.0 * (1.0 - value(rows, DYNATOPS, "left_clusters") / value(rows, GEOPS, "hand_overs"))


def _risen(column: str) -> Callable[[pd.DataFrame], float]:
    """By how many per cent something is more at the longest period than at the shortest."""

    def risen(rows: pd.DataFrame) -> float:
        means = rows[rows.system == DYNATOPS].groupby("free_days")[column].mean()
        return float(100.0 * (means.iloc[-1] / means.iloc[0] - 1.0))

    return risen


def _by_cluster(largest: bool) -> Callable[[pd.DataFrame], float]:
    """Management at one of the ends of the cluster sizes over the least of all, in per cent."""

    def excess(rows: pd.DataFrame) -> float:
        here = rows[(rows.system == DYNATOPS) & (rows.load_weight == 1.0)]
        means = here.groupby("cluster_size").management_messages.mean()
        end = means.index.max() if largest else means.index.min()
        return float(100.0 * (means[end] / means.min() - 1.0))

    return excess


def _deviation_growth(rows: pd.DataFrame) -> float:
    """Without a weight of load, its deviation at the largest cluster over that at the smallest."""
    here = rows[(rows.system == DYNATOPS) & (rows.load_weight == 0.0)]
    means = here.groupby("cluster_size").load_deviation.mean()
    return float(means.iloc[-1] / means.iloc[0])


def _weighed(column: str, lightest: float) -> Callable[[pd.DataFrame], float]:
    """At the largest cluster: a figure at the greatest weight of load over that at a lighter."""

    def value(rows: pd.DataFrame) -> float:
        here = rows[(rows.system == DYNATOPS) & (rows.cluster_size == rows.cluster_size.max())]
        means = here.groupby("load_weight")[column].mean()
        return float(means.iloc[-1] / means[lightest])

    return value


def _saved_by_size(column: str) -> Callable[[pd.DataFrame], float]:
    """By how many per cent a figure is less at the largest cluster than at the smallest."""

    def value(rows: pd.DataFrame) -> float:
        here = rows[(rows.system == DYNATOPS) & (rows.load_weight == 1.0)]
        means = here.groupby("cluster_size")[column].mean()
        return float(100.0 * (1.0 - means.iloc[-1] / means.iloc[0]))

    return value


def _saved_against_both(column: str) -> Callable[[pd.DataFrame], float]:
    """By how many per cent DYNATOPS has less than the best of Bayeux(loc) and GeoPS."""
    others = (*BAYEUX["loc"], GEOPS)
    return lambda rows: min(saved(column, other)(rows) for other in others)


PATHS = (
    "Chord fixes one bit a hop, Tapestry and GeoPS a digit: of 1,200 brokers a delivery takes 9.7 "
    "hops on Chord, 8.0 on GeoPS, 7.7 on Tapestry of base 4 and 5.3 of base 16, and no seating of "
    "brokers makes up for that."
)
MANAGEMENT = (
    "A subscription goes to its topic's root and back, which is far on Chord; on GeoPS it stops at "
    "the first broker of the tree. Friends live anywhere, so few of a cluster of 10 want the same: "
    "brokers' subscriptions change 3.6 million times, 3.4 million if users are with the nearest "
    "broker. News among brokers are a tenth of it at T_update = 6 h; the paper gives no T_update."
)
HAND_OVERS = (
    "Of 395,000 hand-overs of GeoPS, 273,000 are to another cluster of 10, where nobody can keep a "
    "broker: the stand-in's jumps are longer than the clusters. Friends who move change "
    "subscriptions, and so the choice."
)
SUMMED = "Clusters of 10 leave a topic at 58 brokers, not 67; Chord's longer ways take that back."
RELAYS = "A topic is at 58 brokers in place of 67, but Chord's longer ways have more relays."


def _against_bayeux(name: str) -> tuple[Claim, ...]:
    """What is said of Bayeux, of which the paper has three kinds, at a base that it may have had.

    Asides read the words otherwise: a delay that is summed over brokers, management without what
    brokers tell each other.
    """
    wanted = (
        ("delay_ms", "delay of a delivery", "over 60 %", 60.0, PATHS, False),
        ("delay_summed_ms", "delay summed over brokers (eq. 1)", "over 60 %", 60.0, SUMMED, True),
        ("overhead", "overhead", "over 40 %", 40.0, RELAYS, False),
        ("management_messages", "management", "over 40 %", 40.0, MANAGEMENT, False),
        ("tree_messages", "management of topic trees alone", "over 40 %", 40.0, MANAGEMENT, True),
    )
    return tuple(
        Claim(says=f"less {what} than {name}", quoted=quoted, value=saved(column, name),
              least=least, unit="%", why=why, kind="aside" if is_aside else "paper")
        for column, what, quoted, least, why, is_aside in wanted
    )  # fmt: skip


def _each_alone(system: str) -> tuple[Claim, ...]:
    """What is said of selection, and of repositioning, by themselves."""
    return tuple(
        Claim(says=f"less {what} with {system} than Bayeux(loc), base {base}",
              quoted="both broker selection and broker network reconfiguration can improve",
              value=saved(column, name, system), least=0.0, unit="%", why=why)
        for column, what, why in (
            ("delay_ms", "delay of a delivery", PATHS),
            ("overhead", "overhead", "Chord's longer ways have more relays."),
        )
        for name, base in zip(BAYEUX["loc"], BASES, strict=True)
    )  # fmt: skip


CLAIMS = (
    *(claim for kind in ("loc", "loc+PNS") for name in BAYEUX[kind]
      for claim in _against_bayeux(name)),
    *(Claim(says=f"less management than {name}", quoted="over 40 %",
            value=saved("management_messages", name), least=40.0, unit="%", why=MANAGEMENT)
      for name in BAYEUX["static"]),
    Claim(says="less delay than the best of Bayeux(loc) and GeoPS", quoted="30 % (abstract)",
          value=_saved_against_both("delay_ms"), least=27.0, unit="%", why=PATHS),
    Claim(says="less overhead than the best of Bayeux(loc) and GeoPS", quoted="30 % (abstract)",
          value=_saved_against_both("overhead"), least=27.0, unit="%", why=RELAYS),
    *_each_alone("DYNATOPS(BS)"),
    *_each_alone("DYNATOPS(BNR)"),
    Claim(says="less delay of a delivery than GeoPS", quoted="over 30 %",
          value=saved("delay_ms", GEOPS), least=30.0, unit="%", why=PATHS),
    Claim(says="less delay summed over brokers (eq. 1) than GeoPS", quoted="over 30 %",
          value=saved("delay_summed_ms", GEOPS), least=30.0, unit="%", why=SUMMED, kind="aside"),
    Claim(says="less overhead than GeoPS", quoted="over 20 %", value=saved("overhead", GEOPS),
          least=20.0, unit="%", why=RELAYS),
    Claim(says="fewer hand-overs than GeoPS", quoted="over 90 %",
          value=saved("hand_overs", GEOPS), least=90.0, unit="%", why=HAND_OVERS),
    Claim(says="fewer hand-overs than GeoPS if only leaving a cluster were one", quoted="over 90 %",
          value=_least_hand_overs, least=90.0, unit="%", why=HAND_OVERS, kind="aside"),
    Claim(says="less management than GeoPS", quoted="over 40 %",
          value=saved("management_messages", GEOPS), least=40.0, unit="%", why=MANAGEMENT),
    Claim(says="less management of topic trees alone than GeoPS", quoted="over 40 %",
          value=saved("tree_messages", GEOPS), least=40.0, unit="%", kind="aside",
          why="GeoPS joins at the first broker of a tree, DYNATOPS goes to the root and back."),
    Claim(says="ours has less delay of a delivery than DYNATOPS", quoted="-",
          value=saved("delay_ms", DYNATOPS, OURS), least=0.0, unit="%", kind="ours"),
    Claim(says="ours has less deviation of load than DYNATOPS", quoted="-",
          value=saved("load_deviation", DYNATOPS, OURS), least=0.0, unit="%", kind="ours"),
    Claim(says="ours has less overhead than DYNATOPS", quoted="-",
          value=saved("overhead", DYNATOPS, OURS), least=0.0, unit="%", kind="ours",
          why="Bounded loads keep a topic on more brokers."),
)  # fmt: skip
SMALL: dict[str, Sequence[Any]] = {
    "rows": (4,), "columns": (12,), "cell_degrees": (5.0,), "users": (200,), "days": (21.0,),
}  # fmt: skip
FULL: dict[str, Sequence[Any]] = {
    "rows": (20,), "columns": (60,), "cell_degrees": (1.0,), "users": (40_000,), "days": (92.0,),
}  # fmt: skip
BOTH = f"DYNATOPS(BS)|{DYNATOPS}"
SIMILAR = f"{BOTH}|{OURS}"  # our planner takes most of the time, so small runs leave it out

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="dynatops-location-trace",
        paper=PAPER,
        title="The people of the location model, beside those of the paper's trace",
        shows="figure 5",
        measure=measure_trace,
        scales={
            "small": Sweep(grid={"users": (2_000,)}, seeds=10, task_cpu_s=1.0),
            "paper": Sweep(grid={"users": (40_000,)}, seeds=10, task_cpu_s=10.0),
            "10x": Sweep(grid={"users": (400_000,)}, seeds=3, task_cpu_s=120.0),
        },
        claims=tuple(
            Claim(says=what, quoted=quoted, unit=unit, why=STAND_IN, kind="fitted", **about(number),
                  value=partial(_mean_of, column=column))
            for what, quoted, column, number, unit in (
                ("visits of a user", "450 K of 40 K users", "visits_each", 11.25, ""),
                ("cells of a user", "160 K user-cell pairs", "cells_each", 4.0, ""),
                ("cells that their user visited once", "1/3", "once_percent", 100 / 3, "%"),
                ("stays of less than a day", "half", "short_percent", 50.0, "%"),
                ("stays of more than a week", "10 %", "long_percent", 10.0, "%"),
            )
        ),
    ),
    Experiment(
        name="dynatops-location",
        paper=PAPER,
        title="People who wander and follow cells: all systems",
        shows="figures 6a, 6c, 6d, 6e",
        measure=measure_systems,
        judged_at={"users": FULL["users"][0]},
        scales={
            "small": Sweep(grid={**SMALL, "cluster_size": (10,)}, seeds=10, task_cpu_s=10.0),
            "paper": Sweep(grid={**FULL, "cluster_size": (5, 10, 50)}, seeds=3, task_cpu_s=400.0),
        },
        plots=tuple(
            Plot(name=f"dynatops-location-{column}", title=title, x="system", y=column,
                 x_label="", y_label=label, series="cluster_size")
            for column, title, label in (
                ("delay_ms", "Delay of a delivery", "ms"),
                ("delay_summed_ms", "Delay summed over brokers (eq. 1)", "ms"),
                ("overhead", "Messages of a publication", "messages"),
                ("management_messages", "Management", "messages"),
                ("hand_overs", "Hand-overs", "hand-overs"),
            )
        ),
        claims=CLAIMS,
    ),
    Experiment(
        name="dynatops-location-clusters",
        paper=PAPER,
        title="The size of clusters and the weight of load",
        shows="figures 6a, 6b, 6c, 6f",
        measure=measure_systems,
        judged_at={"users": FULL["users"][0]},
        scales={
            "small": Sweep(
                grid={**SMALL, "names": (BOTH,), "cluster_size": (2, 6, 12, 24),
                      "load_weight": (0.0, 1.0, 30.0)},
                seeds=3,
                task_cpu_s=2.0,
            ),
            "paper": Sweep(
                grid={**FULL, "names": (SIMILAR,), "cluster_size": (2, 5, 10, 20, 50),
                      "load_weight": (0.0, 1.0, 30.0)},
                seeds=3,
                task_cpu_s=400.0,
            ),
        },
        plots=tuple(
            Plot(name=f"dynatops-location-clusters-{column}", title=title, x="cluster_size",
                 y=column, x_label="brokers of a cluster", y_label=label, series="load_weight",
                 panel="system")
            for column, title, label in (
                ("management_messages", "Management", "messages"),
                ("tree_messages", "Messages for topic trees", "messages"),
                ("load_deviation", "Deviation of load over its mean", "deviation"),
                ("hand_overs", "Hand-overs", "hand-overs"),
                ("delay_summed_ms", "Delay summed over brokers (eq. 1)", "ms"),
                ("overhead", "Messages of a publication", "messages"),
            )
        ),
        claims=(
            Claim(says="management is more at the largest cluster than at the best", quoted="rises",
                  value=_by_cluster(largest=True), over="cluster_size", least=1.0, unit="%"),
            Claim(says="management is more at the smallest cluster than at the best",
                  quoted="first decreases", value=_by_cluster(largest=False),
                  over="cluster_size", least=1.0, unit="%",
                  why=MANAGEMENT),
            Claim(says="deviation of load at the largest cluster over the smallest, weight 0",
                  quoted="worsens, especially when the cluster size is large",
                  value=_deviation_growth, over="cluster_size", least=1.0, unit="times"),
            Claim(says="deviation of load at weight 30 over weight 0, largest cluster",
                  quoted="greatly improved", value=_weighed("load_deviation", 0.0),
                  over="load_weight", most=0.5,
                  unit="times"),
            Claim(says="overhead then, weight 30 over weight 1", quoted="-", kind="aside",
                  value=_weighed("overhead", 1.0), over="load_weight", unit="times",
                  why="What is gained by few brokers goes as load spreads; the paper shows both, "
                  "never together."),
            *(Claim(says=f"less {what} at the largest cluster than at the smallest",
                    quoted="performance improvement increases with the cluster size",
                    value=_saved_by_size(column),
                    over="cluster_size", least=0.0, unit="%", why=PATHS)
              for column, what in (("delay_ms", "delay of a delivery"), ("overhead", "overhead"))),
        ),
    ),
    Experiment(
        name="dynatops-location-free-period",
        paper=PAPER,
        title="How long the network stays as it is",
        shows="figure 9, location model, c = 10",
        measure=measure_systems,
        judged_at={"users": FULL["users"][0]},
        scales={
            "small": Sweep(
                grid={**SMALL, "names": (DYNATOPS,), "free_days": (1.0, 3.0, 7.0),
                      "warmup_days": (7.0,)},
                seeds=10,
                task_cpu_s=2.0,
            ),
            "paper": Sweep(
                grid={**FULL, "names": (f"{DYNATOPS}|{OURS}",),
                      "free_days": (1.0, 2.0, 4.0, 7.0, 14.0, 28.0), "warmup_days": (28.0,)},
                seeds=3,
                task_cpu_s=90.0,
            ),
        },
        plots=tuple(
            Plot(name=f"dynatops-location-free-period-{column}", title=title, x="free_days",
                 y=column, x_label="days between reconfigurations", y_label=label,
                 series="system")
            for column, title, label in (
                ("delay_ms", "Delay of a delivery", "ms"),
                ("overhead", "Messages of a publication", "messages"),
                ("reconfiguration_messages", "Reconfiguration", "messages"),
            )
        ),
        claims=(
            Claim(says="more delay at the longest period than at the shortest",
                  quoted="only slight degradation", value=_risen("delay_ms"),
                  over="free_days", most=10.0, unit="%"),
            Claim(says="more overhead at the longest period than at the shortest",
                  quoted="only slight degradation", value=_risen("overhead"),
                  over="free_days", most=10.0, unit="%"),
            Claim(says="more reconfiguration messages at the longest period than at the shortest",
                  quoted="decreases", value=_risen("reconfiguration_messages"),
                  over="free_days", most=0.0, unit="%"),
        ),
    ),
)  # fmt: skip
