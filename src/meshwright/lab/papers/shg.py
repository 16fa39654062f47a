"""SHG: messages of events and subscriptions on a hypercube over those of Scribe.

The paper quotes no number of its figures 4 and 5: that traffic scales we read as growing no faster
than Scribe's, which stands aside of what the paper says itself. Both readings of its text, of
events and of the subscription table, stand beside each other, and so do Pastry with digits of 4
bits and of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd

from meshwright.lab.experiments.experiment import Claim, Experiment, Plot, Sweep
from meshwright.lab.partition_routing.traffic import measure_ratios, measure_simulated

PAPER = "shg"
READINGS = ("selective+path", "broadcast+sub_partition")


def growth(column: str, reading: str, digit_bits: int) -> Callable[[pd.DataFrame], float]:
    """A ratio at the most nodes over the same at the fewest."""

    def value(rows: pd.DataFrame) -> float:
        chosen = rows[(rows["reading"] == reading) & (rows["digit_bits"] == digit_bits)]
        by_nodes = chosen.groupby("nodes")[column].mean()
        return float(by_nodes.iloc[-1] / by_nodes.iloc[0]) if len(by_nodes) > 1 else float("nan")

    return value


def highest(rows: pd.DataFrame, *, column: str, reading: str, digit_bits: int) -> float:
    """The highest ratio of all numbers of nodes."""
    chosen = rows[(rows["reading"] == reading) & (rows["digit_bits"] == digit_bits)]
    return float(chosen[column].max())


def differing(rows: pd.DataFrame, column: str) -> float:
    """By how much messages that were sent differ from those that are due, the most of all rows."""
    return float((rows[column] - rows[f"{column}_due"]).abs().max())


WORDS = {"bt_events": "BT(e)", "bt_subscriptions": "BT(p)"}
ONLY_ONE_SCALES = (
    "This reading sends to whole sub-partitions, which double with every two dimensions."
)


FLAT = {
    4: "Against Pastry with 16 values a digit, whose trees stay flat.",
    1: "Against Pastry with 2 values a digit, whose trees grow, too.",
}


def _claims() -> list[Claim]:
    found = []
    for column, name in WORDS.items():
        for reading in READINGS:
            for digit_bits in (4, 1):
                which = f"{name}, {reading}, b = {digit_bits}"
                found.append(
                    Claim(
                        says=f"{which}: from 64 nodes to 1024 it grows by a factor of",
                        quoted="very good scalability",
                        value=growth(column, reading, digit_bits),
                        most=1.1,
                        kind="aside",
                        why=ONLY_ONE_SCALES if reading != READINGS[0] else FLAT[digit_bits],
                    )
                )
                found.append(
                    Claim(
                        says=f"{which}: the highest of all sizes",
                        quoted="-",
                        value=partial(
                            highest, column=column, reading=reading, digit_bits=digit_bits
                        ),
                        kind="aside",
                    )
                )
    return found


def best_low_bits(column: str) -> Callable[[pd.DataFrame], float]:
    """The k at which a ratio is lowest, as a share of the dimensions.

    Where events are selective and subscriptions take the path, with digits of 4 bits, at the most
    dimensions; 1 < k < n, as the paper has it.
    """

    def value(rows: pd.DataFrame) -> float:
        n = rows["dimensions"].max()
        chosen = rows[
            (rows["reading"] == READINGS[0])
            & (rows["digit_bits"] == 4)
            & (rows["dimensions"] == n)
            & rows["low_bits"].between(2, n - 1)
        ]
        return float(chosen.groupby("low_bits")[column].mean().idxmin() / n)

    return value


def _plot(name: str, title: str, y: str, x: str = "nodes", x_label: str = "nodes") -> Plot:
    return Plot(
        name=name,
        title=title,
        x=x,
        y=y,
        x_label=x_label,
        y_label="messages of SHG over Scribe's",
        series="reading",
        panel="digit_bits",
        log_x=x == "nodes",
    )


FIGURES = (
    _plot("bt-events", "BT(e), events", "bt_events"),
    _plot("bt-subscriptions", "BT(p), subscriptions", "bt_subscriptions"),
)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="shg-traffic",
        paper=PAPER,
        title="Messages of events and subscriptions over Scribe's, in closed form",
        shows="figures 4 and 5",
        measure=measure_ratios,
        scales={
            "small": Sweep(
                grid={"dimensions": (6, 8, 10), "digit_bits": (4, 1), "reading": READINGS},
                seeds=10,
                task_cpu_s=0.5,
            ),
            "paper": Sweep(
                grid={"dimensions": range(6, 11), "digit_bits": (4, 1), "reading": READINGS},
                seeds=100,
                task_cpu_s=0.5,
            ),
        },
        plots=FIGURES,
        claims=tuple(_claims()),
    ),
    Experiment(
        name="shg-low-bits",
        paper=PAPER,
        title="The same by the number of low bits, which trades events for subscriptions",
        shows="guideline 2: the ranges of dominating nodes fit the network and its use",
        measure=measure_ratios,
        scales={
            "small": Sweep(
                grid={
                    "dimensions": (8,),
                    "digit_bits": (4,),
                    "low_bits": range(1, 8),
                    "reading": READINGS[:1],
                    "event_count": (500,),
                },
                seeds=10,
                task_cpu_s=0.2,
            ),
            "paper": Sweep(
                grid={
                    "dimensions": (10,),
                    "digit_bits": (4, 1),
                    "low_bits": range(1, 10),
                    "reading": READINGS,
                },
                seeds=20,
                task_cpu_s=0.6,
            ),
        },
        plots=(
            _plot("bt-events-low-bits", "BT(e)", "bt_events", "low_bits", "low bits"),
            _plot("bt-subscriptions-low-bits", "BT(p)", "bt_subscriptions", "low_bits", "low bits"),
        ),
        claims=(
            Claim(
                says="low bits at which events cost least, of all dimensions",
                quoted="minimise the traffic caused by events, at some cost for subscriptions",
                value=best_low_bits("bt_events"),
                least=0.5,
            ),
            Claim(
                says="low bits at which subscriptions cost least, of all dimensions",
                quoted="the inverse choice may be beneficial where subscriptions outnumber events",
                value=best_low_bits("bt_subscriptions"),
                most=0.5,
            ),
        ),
    ),
    Experiment(
        name="shg-simulated",
        paper=PAPER,
        title="The same message by message, by real brokers in a simulated network",
        shows="figures 4 and 5, at the sizes that fit",
        measure=measure_simulated,
        scales={
            "small": Sweep(
                grid={
                    "dimensions": (5,),
                    "digit_bits": (4, 1),
                    "reading": READINGS,
                    "event_count": (5,),
                },
                seeds=10,
                task_cpu_s=1.0,
            ),
            "paper": Sweep(
                grid={
                    "dimensions": (5, 6, 7),
                    "digit_bits": (4, 1),
                    "reading": READINGS,
                    "event_count": (30,),
                },
                seeds=100,
                task_cpu_s=6.0,
            ),
        },
        plots=FIGURES,
        claims=tuple(
            Claim(
                says=f"{name} of messages sent less that of the closed form, the most of all runs",
                quoted="-",
                value=partial(differing, column=column),
                most=1e-9,
                kind="check",
                each_seed=True,
            )
            for column, name in WORDS.items()
        ),
    ),
)
