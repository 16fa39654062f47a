"""The mobility paper: what it costs that clients go away and come back elsewhere.

Every run is of whole brokers in the simulator, on the paper's tree of 85. Choices of ours are
parameters of `CityParameters`. Ratios are unicast to multicast hops. Claims of 800 subscribers are
told by runs of the paper's scale; where only the shape is claimed, any scale tells. "About" a
number is within a tenth of it, "negligible" a twentieth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import nan
from typing import Any

import msgspec
import pandas as pd

from meshwright.lab.city.measuring import city_rows, model_row, run_rows
from meshwright.lab.city.running import CityParameters
from meshwright.lab.experiments.experiment import (
    Claim,
    ClaimKind,
    Experiment,
    Parameters,
    Plot,
    Sweep,
)
from meshwright.protocol.mobility.policies import parse_policies

PAPER = "mobility"
POLICIES = ("standard", "logging", "prefetching", "home")
ALL_POLICIES = (*POLICIES, "standard+device")
SIZES = (200, 400, 600, 800)
# What a run in the city is unless it is swept; how long it is, each measure is told in hours.
CITY = {
    one.name: one.default
    for one in msgspec.structs.fields(CityParameters)
    if one.name not in {"seed", "duration_s"}
}
FULL = 800
FULL_PUBLISHERS = 100
# Of the paper's runs; with fewer subscribers peaks stand out more.
FEWEST = {"subscribers": SIZES[0]}
# Of a run of this paper, "almost no overhead" is one of less than this.
ALMOST_NOTHING = 0.05

Value = Callable[[pd.DataFrame], float]


def mean_of(column: str, **where: Any) -> Value:
    """The mean of a column over the rows that have these values; not a number without any."""

    def value(rows: pd.DataFrame) -> float:
        for name, wanted in where.items():
            rows = rows[rows[name] == wanted]
        return float(rows[column].mean())

    return value


def largest(column: str, **where: Any) -> Value:
    """The same of the runs with most subscribers, whatever the scale."""

    def value(rows: pd.DataFrame) -> float:
        return mean_of(column, subscribers=rows["subscribers"].max(), **where)(rows)

    return value


def with_all_publishers(value: Value) -> Value:
    """The value of runs with the paper's publishers; not a number of others.

    What a move costs does not shrink with the events that wait, so shares of it tell nothing where
    less is published.
    """

    def found(rows: pd.DataFrame) -> float:
        few = "publishers" in rows and rows["publishers"].max() < FULL_PUBLISHERS
        return nan if few else value(rows)

    return found


def percent(value: Value) -> Value:
    """The value in per cent, as the paper tells it."""
    return lambda rows: 100 * value(rows)


def smallest(column: str, **where: Any) -> Value:
    """The same of the runs with fewest subscribers."""

    def value(rows: pd.DataFrame) -> float:
        return mean_of(column, subscribers=rows["subscribers"].min(), **where)(rows)

    return value


def over(one: Value, other: Value) -> Value:
    """One value over another; not a number over nothing."""

    def value(rows: pd.DataFrame) -> float:
        whole = other(rows)
        return one(rows) / whole if whole else nan

    return value


def highest(column: str, **where: Any) -> Value:
    """The highest value of a column."""

    def value(rows: pd.DataFrame) -> float:
        for name, wanted in where.items():
            rows = rows[rows[name] == wanted]
        return float(rows[column].max())

    return value


def cost_with_arrivals(policy: str) -> Value:
    """How a policy's cost goes with arrivals over the evening, with most subscribers: Pearson's."""

    def value(rows: pd.DataFrame) -> float:
        windows = rows[(rows["part"] == "window") & (rows["policy"] == policy)]
        windows = windows[windows["subscribers"] == windows["subscribers"].max()]
        return float(windows["cost_per_minute"].corr(windows["arrivals_share"]))

    return value


def load_at_peak(rows: pd.DataFrame) -> float:
    """Of standard with the paper's most subscribers, over the load without mobile users."""
    return 1 + mean_of("peak", policy="standard", subscribers=FULL)(rows)


def next_worst(rows: pd.DataFrame) -> float:
    """The highest average overhead of a policy other than home, with most subscribers."""
    chosen = rows[(rows["subscribers"] == rows["subscribers"].max()) & (rows["policy"] != "home")]
    return float(chosen.groupby("policy")["average"].mean().max())


def out_of_order(rows: pd.DataFrame, column: str = "average") -> float:
    """How many neighbours change places if policies are sorted by overhead; home is the worst."""
    order = ("prefetching", "logging", "standard", "home")
    values = [largest(column, policy=policy)(rows) for policy in order]
    return float(sum(low >= high for low, high in pairwise(values)))


def late(policy: str) -> Value:
    """What an evening costs in its last half hour, when everybody has come home."""

    def value(rows: pd.DataFrame) -> float:
        rows = rows[(rows["policy"] == policy) & (rows["subscribers"] == rows["subscribers"].max())]
        return float(rows[rows["hour"] >= rows["hour"].max() - 0.4]["cost_per_minute"].mean())

    return value


def growth(policy: str) -> Value:
    """How much the average grows from the fewest to the most subscribers."""
    return over(largest("average", policy=policy), smallest("average", policy=policy))


def ratio_plot(name: str, title: str, x: str, x_label: str, **options: Any) -> Plot:
    """Average overhead under each policy."""
    return Plot(
        name=name, title=title, x=x, y="average", x_label=x_label,
        y_label="unicast / multicast", series="policy", where={"part": "run"}, **options,
    )  # fmt: skip


def _beside_standard(
    policy: str, how: str, *, why: str = "", kind: ClaimKind = "ours", **where: Any
) -> Claim:
    """A policy has less overhead than standard; a claim of ours where we foresee."""
    habit = where["habit"]
    return Claim(
        says=f"{policy} {how}, over standard", quoted="-", kind=kind, most=1.0, why=why,
        value=over(
            mean_of("average", policy=policy, **where),
            mean_of("average", policy="standard", habit=habit),
        ),
    )  # fmt: skip


COUNTING = (
    "The paper states neither what it counts as a message nor how long it runs: hops with the last "
    "one to the client, to 20:30, is our choice; the other columns show what that does."
)
COMMUTE = Experiment(
    name="mobility-commute",
    paper=PAPER,
    title="The way home: unicast against multicast under each policy",
    shows="figures 3, 4 and 5",
    measure=city_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["commute"], "policy": ALL_POLICIES, "subscribers": [20, 80],
                  "publishers": [9], "hours": [4.5]},
            seeds=10, task_cpu_s=2.0,
        ),
        "paper": Sweep(
            grid={"scenario": ["commute"], "policy": ALL_POLICIES, "subscribers": SIZES,
                  "hours": [4.5]},
            seeds=5, task_cpu_s=50.0,
        ),
        "10x": Sweep(
            grid={"scenario": ["commute"], "policy": ALL_POLICIES, "subscribers": [8_000],
                  "hours": [4.5]},
            seeds=1, task_cpu_s=600.0,
        ),
    },
    plots=(
        ratio_plot("average", "Average overhead, commute (fig. 3)", "subscribers", "subscribers",
                   log_y=True),
        Plot(
            name="peak", title="Peak overhead, commute (fig. 4)", x="subscribers", y="peak",
            x_label="subscribers", y_label="unicast / multicast", series="policy",
            where={"part": "run"}, log_y=True,
        ),
        Plot(
            name="over-time", title="Message cost over the evening (fig. 5)", x="hour",
            y="cost_per_minute", x_label="hour of the day", y_label="hops a minute",
            series="policy", panel="subscribers", where={"part": "window"}, log_y=True,
        ),
        Plot(
            name="until", title="The same if the run ends at 19:30", x="subscribers",
            y="average_to_19:30", x_label="subscribers", y_label="unicast / multicast",
            series="policy", where={"part": "run"}, log_y=True,
        ),
        Plot(
            name="between-brokers", title="The same without the last hop", x="subscribers",
            y="average_between_brokers", x_label="subscribers", y_label="unicast / multicast",
            series="policy", where={"part": "run"}, log_y=True,
        ),
    ),
    claims=(
        Claim(
            says="standard's average overhead with 800 subscribers", quoted="almost 80 %",
            value=percent(mean_of("average", policy="standard", subscribers=FULL)),
            least=72.0, most=88.0, unit="%", why=COUNTING,
        ),
        Claim(
            says="standard's peak overhead with 800 subscribers", quoted="230 %",
            value=percent(mean_of("peak", policy="standard", subscribers=FULL)),
            least=207.0, most=253.0, unit="%", why=COUNTING,
        ),
        Claim(
            says="network capacity at the peak, over that without mobile users",
            quoted="more than triple",
            value=load_at_peak,
            least=3.0, why=COUNTING,
        ),
        Claim(
            says="the half hour of standard's peak begins", quoted="17:00",
            value=largest("peak_hour", policy="standard"), least=16.75, most=17.25, unit="h",
            why="Sessions move when people come home, 15 to 90 minutes after they leave until "
            "18:00: most come between 17:30 and 18:00. The paper may count by departure.",
        ),
        Claim(
            says="policies out of the order of their averages, at the peak",
            quoted="the relative performance of each approach is comparable to the average case",
            value=partial(out_of_order, column="peak"), most=0.0,
        ),
        *(
            Claim(
                says=f"correlation of {policy}'s message cost with arrivals, over the evening",
                quoted="closely tracks the number of concurrent clients executing state transfers",
                value=cost_with_arrivals(policy), least=0.9,
                why="Cost peaks as arrivals do, but stays high for half an hour more, and ends two "
                "fifths above where it began.",
            )
            for policy in ("standard", "logging")
        ),
        Claim(
            says="standard's peak over its average", quoted="almost triples",
            value=largest("peak_over_average", policy="standard"), least=2.7, most=3.0,
            why=COUNTING,
        ),
        Claim(
            says="logging's peak over its average", quoted="almost triples",
            value=largest("peak_over_average", policy="logging"), least=2.7, most=3.0,
            why=COUNTING,
        ),
        Claim(
            says="home-broker's peak over its average", quoted="more than quadruples",
            value=largest("peak_over_average", policy="home"), least=4.0,
            why="What home sends on lasts after everybody is back, as the paper says itself, so "
            "that its average is high, too.",
        ),
        Claim(
            says="home-broker's peak load with 800 subscribers", quoted="more than 25 times",
            value=mean_of("peak", policy="home", subscribers=FULL), least=25.0, unit="times",
            why="Our peak is when fewest are at home, after 18:30. " + COUNTING,
        ),
        Claim(
            says="home-broker over the next worst", quoted="by far the highest",
            value=over(largest("average", policy="home"), next_worst),
            least=2.0, unit="times",
        ),
        Claim(
            says="home-broker's growth from the fewest to the most subscribers",
            quoted="increases with the subscriber population", value=growth("home"),
            over="subscribers", least=1.0,
        ),
        Claim(
            says="standard's growth from the fewest to the most subscribers",
            quoted="also increases with subscriber population", value=growth("standard"),
            over="subscribers", least=1.0,
        ),
        Claim(
            says="prefetching's average overhead", quoted="almost no overhead",
            value=largest("average", policy="prefetching"), most=ALMOST_NOTHING,
        ),
        Claim(
            says="stored events in prefetching's overhead",
            quoted="almost fully due to subscription migration and constant overhead",
            value=largest("stored_share", policy="prefetching"), most=ALMOST_NOTHING,
        ),
        Claim(
            says="logging over standard", quoted="improves on standard",
            value=over(largest("average", policy="logging"), largest("average", policy="standard")),
            most=1.0,
        ),
        Claim(
            says="subscription migration in standard's unicast", quoted="less than 1 %",
            value=percent(with_all_publishers(largest("migration_share", policy="standard"))),
            most=1.0, unit="%",
        ),
        Claim(
            says="subscription migration in logging's unicast", quoted="less than 1 %",
            value=percent(with_all_publishers(largest("migration_share", policy="logging"))),
            most=1.0, unit="%",
        ),
        Claim(
            says="stored events in standard's unicast",
            quoted="most of the overhead is due to the transfer of stored events",
            value=percent(with_all_publishers(largest("stored_share", policy="standard"))),
            least=50.0, unit="%",
        ),
        Claim(
            says="load at standard's peak, over that without mobile users",
            quoted="load spikes are triple the non-mobility load (conclusions)",
            value=load_at_peak,
            least=2.7, most=3.3, why=COUNTING,
        ),
        Claim(
            says="induced subscriptions in home-broker's unicast", quoted="none",
            value=largest("migration_share", policy="home"), most=0.0,
        ),
        Claim(
            says="logging's cost over standard's after all have reconnected", quoted="identical",
            value=over(late("logging"), late("standard")), least=0.9, most=1.1,
        ),
        Claim(
            says="prefetching's cost over standard's after all have reconnected",
            quoted="identical", value=over(late("prefetching"), late("standard")),
            least=0.9, most=1.1,
        ),
        Claim(
            says="home-broker's cost over standard's after all have reconnected",
            quoted="large and sustained unicast", value=over(late("home"), late("standard")),
            least=2.0,
        ),
        Claim(
            says="most subscribers that reconnect within ten minutes",
            quoted="up to 10 % concurrently performing state transfer", kind="aside",
            value=percent(highest("arrivals_share", policy="standard")), most=10.0, unit="%",
            why="Our transfers take milliseconds, so hardly two happen at once. How long the "
            "paper's take follows from link speeds that it does not state.",
        ),
        Claim(
            says="messages owed and not delivered", quoted="-", kind="check",
            value=lambda rows: float(rows["undelivered"].sum()), most=0.0, each_seed=True,
        ),
    ),
)  # fmt: skip

LOGGING_OVER_STANDARD = over(
    mean_of("average", policy="logging", subscribers=FULL),
    mean_of("average", policy="standard", subscribers=FULL),
)
RANDOM = Experiment(
    name="mobility-random",
    paper=PAPER,
    title="People at random: unicast against multicast under each policy",
    shows="figure 6",
    measure=run_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["random"], "policy": ALL_POLICIES, "subscribers": [20, 80],
                  "publishers": [18], "hours": [1.0]},
            seeds=10, task_cpu_s=1.5,
        ),
        "paper": Sweep(
            grid={"scenario": ["random"], "policy": ALL_POLICIES, "subscribers": SIZES,
                  "hours": [8.0]},
            seeds=5, task_cpu_s=70.0,
        ),
        "10x": Sweep(
            grid={"scenario": ["random"], "policy": ALL_POLICIES, "subscribers": [8_000],
                  "hours": [8.0]},
            seeds=1, task_cpu_s=1200.0,
        ),
    },
    plots=(
        ratio_plot("average", "Average overhead, random (fig. 6)", "subscribers", "subscribers"),
    ),
    claims=(
        Claim(
            says="standard's average overhead with 800 subscribers", quoted="virtually 100 %",
            value=percent(mean_of("average", policy="standard", subscribers=FULL)),
            least=90.0, most=110.0, unit="%",
            why="With one subscription to one of 27 types, and both times 10 to 30 minutes, half "
            "of all that is wanted is stored and moved over up to six hops. " + COUNTING,
        ),
        Claim(
            says="logging over standard with 800 subscribers", quoted="less than 70 %",
            value=percent(LOGGING_OVER_STANDARD), most=70.0, unit="%",
            why="A leaf has seen an event only if one of its own dozen clients wants it, or one "
            "that left since.",
        ),
        Claim(
            says="logging over standard with 800 subscribers (conclusions)", quoted="to 70 %",
            value=percent(LOGGING_OVER_STANDARD), least=63.0, most=77.0, unit="%",
        ),
        Claim(
            says="logging's growth from the fewest to the most subscribers",
            quoted="increases marginally with larger population",
            value=with_all_publishers(growth("logging")), over="subscribers", least=1.0, most=1.1,
            why="More subscribers find more in logs, but what they left behind grows faster.",
        ),
        Claim(
            says="subscription migration in standard's unicast", quoted="about 2 %",
            value=percent(with_all_publishers(largest("migration_share", policy="standard"))),
            least=1.8, most=2.2, unit="%",
            why="It is the price of a move over that of the events that wait, and so depends on "
            "how often each type is published and on covering.",
        ),
        Claim(
            says="subscription migration in logging's unicast", quoted="about 2 %",
            value=percent(with_all_publishers(largest("migration_share", policy="logging"))),
            least=1.8, most=2.2, unit="%",
            why="As under standard; logging sends fewer events, so the share is larger.",
        ),
        Claim(
            says="stored events in standard's unicast",
            quoted="dominated by the forwarding of stored events (conclusions)",
            value=percent(with_all_publishers(largest("stored_share", policy="standard"))),
            least=50.0, unit="%",
        ),
        Claim(
            says="neighbours out of order, if policies are sorted as on the way home",
            quoted="similar trends and relative performance of the four approaches",
            value=with_all_publishers(out_of_order), most=0.0,
        ),
        Claim(
            says="subscriptions and unsubscriptions over stored events, standard",
            quoted="a number of per cent that our copy of the paper lost",
            value=with_all_publishers(largest("migration_over_stored", policy="standard")),
        ),
        Claim(
            says="prefetching's average overhead", quoted="small",
            value=with_all_publishers(largest("average", policy="prefetching")),
            most=ALMOST_NOTHING,
        ),
        Claim(
            says="stored events in prefetching's overhead", quoted="negligible",
            value=with_all_publishers(largest("stored_share", policy="prefetching")),
            most=ALMOST_NOTHING,
        ),
        Claim(
            says="home-broker's overhead that is events sent on", quoted="completely",
            value=largest("home_share", policy="home"), least=1.0,
        ),
        Claim(
            says="messages owed and not delivered", quoted="-", kind="check",
            value=lambda rows: float(rows["undelivered"].sum()), most=0.0, each_seed=True,
        ),
    ),
)  # fmt: skip

LOCALITY = Experiment(
    name="mobility-locality",
    paper=PAPER,
    title="What it helps if many want the same",
    shows="figure 7",
    measure=run_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["random"], "policy": POLICIES, "locality": [0.3, 0.9],
                  "subscribers": [60], "publishers": [18], "hours": [0.75]},
            seeds=5, task_cpu_s=1.2,
        ),
        "paper": Sweep(
            grid={"scenario": ["random"], "policy": POLICIES, "locality": [0.3, 0.6, 0.9],
                  "subscribers": [FULL], "hours": [8.0]},
            seeds=5, task_cpu_s=120.0,
        ),
    },
    plots=(
        ratio_plot("average", "Effect of locality (fig. 7)", "locality",
                   "share that wants the same", log_y=True),
    ),
    claims=(
        Claim(
            says="logging's overhead at 90 % locality over that at 30 %", quoted="decreases",
            value=over(
                mean_of("average", policy="logging", locality=0.9),
                mean_of("average", policy="logging", locality=0.3),
            ),
            most=1.0,
        ),
        *(
            Claim(
                says=f"{policy}'s overhead at 90 % locality over that at 30 %",
                quoted="unlike the other approaches, logging decreases",
                value=over(
                    mean_of("average", policy=policy, locality=0.9),
                    mean_of("average", policy=policy, locality=0.3),
                ),
                least=1.0,
                why="It depends on how many publish what most want, which the seed draws.",
            )
            for policy in ("standard", "prefetching", "home")
        ),
        Claim(
            says="logging over prefetching at 90 % locality", quoted="matches",
            value=over(
                mean_of("average", policy="logging", locality=0.9),
                mean_of("average", policy="prefetching", locality=0.9),
            ),
            least=0.9, most=1.1,
            why="The tenth of subscribers that want something else still has its events moved.",
        ),
    ),
)  # fmt: skip


def _least_for_a_population(rows: pd.DataFrame) -> float:
    """Overhead with a log of 1200 over one of 800, where it is least."""
    by_size = rows.pivot_table(index="subscribers", columns="log_max", values="average")
    return float((by_size[1200] / by_size[800]).min())


LOG_SIZE = Experiment(
    name="mobility-log",
    paper=PAPER,
    title="How many events brokers need to remember",
    shows="figure 8",
    measure=run_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["random"], "policy": ["logging"], "log_max": [10, 800, 1200],
                  "subscribers": [60], "publishers": [18], "hours": [0.75]},
            seeds=5, task_cpu_s=1.2,
        ),
        "paper": Sweep(
            grid={"scenario": ["random"], "policy": ["logging"],
                  "log_max": [100, 200, 400, 800, 1000, 1200], "subscribers": SIZES,
                  "hours": [8.0]},
            seeds=3, task_cpu_s=120.0,
        ),
    },
    plots=(
        ratio_plot("average", "Effect of the log's size (fig. 8)", "log_max", "events in the log",
                   panel="subscribers", log_x=True),
    ),
    claims=(
        Claim(
            says="logging's overhead with a log of 1200 over one of 800",
            quoted="decreases only marginally",
            value=with_all_publishers(
                over(mean_of("average", log_max=1200), mean_of("average", log_max=800))
            ),
            least=0.9, most=1.0,
        ),
        Claim(
            says="the same for the population that gains most",
            quoted="regardless of the population size",
            value=with_all_publishers(_least_for_a_population),
            least=0.9, most=1.0,
        ),
    ),
)  # fmt: skip

PERVASIVE = Experiment(
    name="mobility-pervasive",
    paper=PAPER,
    title="Hand-offs at every broker on the way",
    shows="figure 9",
    measure=run_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["pervasive"], "policy": ALL_POLICIES,
                  "subscribers": [12], "hours": [1.5], "gap_s": [10.0]},
            seeds=5, task_cpu_s=2.0,
        ),
        "paper": Sweep(
            grid={"scenario": ["pervasive"], "policy": ALL_POLICIES,
                  "subscribers": SIZES, "hours": [8.0], "gap_s": [1.0, 10.0, 60.0]},
            seeds=3, task_cpu_s=750.0,
        ),
    },
    plots=(
        ratio_plot("average", "Average overhead, pervasive (fig. 9)", "subscribers", "subscribers",
                   panel="gap_s"),
    ),
    claims=(
        Claim(
            says="logging over standard", quoted="perform equally well",
            value=over(
                largest("average", policy="logging"), largest("average", policy="standard")
            ),
            least=0.9, most=1.1,
            why="A log saves nothing in gaps this short, and asking it costs messages each time.",
        ),
        Claim(
            says="prefetching over standard", quoted="perform equally well",
            value=over(
                largest("average", policy="prefetching"), largest("average", policy="standard")
            ),
            least=0.9, most=1.1,
            why="An offer goes before the request, so prefetching asks once more for each move.",
        ),
        Claim(
            says="home-broker over standard", quoted="still has the highest overhead",
            value=over(largest("average", policy="home"), largest("average", policy="standard")),
            least=1.0,
        ),
        *(
            Claim(
                says=f"subscription migration in {policy}'s unicast", quoted="about 60 %",
                value=percent(largest("migration_share", policy=policy)),
                least=54.0, most=66.0, unit="%",
                why="We count a request and MOVEOUT for each move beside one filter that moves.",
            )
            for policy in ("standard", "logging")
        ),
        *(
            Claim(
                says=f"stored events in {policy}'s unicast",
                quoted="only subscriptions and unsubscriptions contribute",
                value=percent(largest("stored_share", policy=policy)),
                most=100 * ALMOST_NOTHING, unit="%",
                why="In a gap of 10 s, which is our choice, a client of 100 publishers misses "
                "events, too; a shorter one leaves less.",
            )
            for policy in ("standard", "logging", "prefetching")
        ),
        Claim(
            says="subscription migration under prefetching over standard", quoted="even higher",
            value=over(
                largest("migration_share", policy="prefetching"),
                largest("migration_share", policy="standard"),
            ),
            least=1.0,
            why="Our prefetching makes an offer for each move, which is no migration.",
        ),
        Claim(
            says="standard with subscriptions on the device over standard",
            quoted="would be beneficial",
            value=over(
                largest("unicast", policy="standard+device"), largest("unicast", policy="standard")
            ),
            most=1.0,
        ),
        Claim(
            says="home-broker's overhead that is events sent on", quoted="completely",
            value=largest("home_share", policy="home"), least=1.0,
        ),
    ),
)  # fmt: skip

FILTERS = Experiment(
    name="mobility-filters",
    paper=PAPER,
    title="Covering and advertisements, on the paper's hierarchy and on our tree",
    shows="section 5.2.5",
    measure=run_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            # People of the commute want several types at once, too; others have nothing to cover.
            grid={"scenario": ["commute"], "policy": ["standard"], "design": ["hierarchy", "tree"],
                  "covering": [False, True], "advertisements": [False, True],
                  "subscribers": [40], "publishers": [6], "hours": [4.5]},
            seeds=10, task_cpu_s=1.2,
        ),
        "paper": Sweep(
            grid={"scenario": ["random", "commute"], "policy": ["standard", "logging"],
                  "design": ["hierarchy", "tree"], "covering": [False, True],
                  "advertisements": [False, True], "subscribers": [FULL], "hours": [4.5]},
            seeds=3, task_cpu_s=60.0,
        ),
    },
    plots=(
        Plot(
            name="messages", title="All hops, with covering", x="advertisements", y="messages",
            x_label="advertisements", y_label="hops", series="design", panel="policy",
            where={"covering": True},
        ),
    ),
    claims=(
        Claim(
            says="all hops with covering over without, hierarchy", quoted="negligible",
            value=over(
                mean_of("messages", design="hierarchy", covering=True, advertisements=False),
                mean_of("messages", design="hierarchy", covering=False, advertisements=False),
            ),
            least=0.95, most=1.05,
        ),
        Claim(
            says="all hops with advertisements over without, hierarchy", quoted="negligible",
            value=over(
                mean_of("messages", design="hierarchy", covering=True, advertisements=True),
                mean_of("messages", design="hierarchy", covering=True, advertisements=False),
            ),
            least=0.95, most=1.05,
            why="With advertisements events no longer climb to the root unless they are wanted "
            "there, which the fewer subscribers the more it saves.",
        ),
        Claim(
            says="standard's ratio with both over neither, hierarchy", quoted="negligible",
            value=over(
                mean_of("average", design="hierarchy", covering=True, advertisements=True),
                mean_of("average", design="hierarchy", covering=False, advertisements=False),
            ),
            least=0.95, most=1.05,
            why="Advertisements lower what is below the line of the ratio.",
        ),
        Claim(
            says="multicast hops of our tree over the paper's hierarchy", quoted="-", kind="ours",
            value=over(
                mean_of("multicast", design="tree", covering=True, advertisements=False),
                mean_of("multicast", design="hierarchy", covering=True, advertisements=False),
            ),
            most=1.0,
        ),
        Claim(
            says="messages owed and not delivered", quoted="-", kind="check",
            value=lambda rows: float(rows["undelivered"].sum()), most=0.0, each_seed=True,
        ),
    ),
)  # fmt: skip


def _that_policies_ask_for(parameters: Parameters) -> Parameters:
    """Without those that a policy does not look at.

    Only prefetching and watching foresee, and where a client is known to go, one broker watches.
    """
    policies = frozenset(parse_policies(parameters["policy"]))
    used = dict(parameters)
    if not policies & {"prefetching", "watching"}:
        del used["foresees"]
    if "watching" not in policies:
        del used["watchers_max"]
    elif used["foresees"]:
        used["watchers_max"] = min(1, used["watchers_max"])
    return used


PREDICTION = Experiment(
    name="mobility-prediction",
    paper=PAPER,
    title="Prefetching by our predictor, by one that is always right, and to several brokers",
    shows="section 3.2.1, beyond its figures",
    measure=run_rows,
    deciding=_that_policies_ask_for,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["habits"], "policy": ["standard", "prefetching", "watching"],
                  "foresees": [False, True], "habit": [0.5, 1.0], "subscribers": [16],
                  "publishers": [12], "hours": [2.0]},
            seeds=10, task_cpu_s=1.0,
        ),
        "paper": Sweep(
            grid={"scenario": ["habits"], "policy": ["standard", "prefetching", "watching"],
                  "foresees": [False, True], "habit": [0.0, 0.25, 0.5, 0.75, 0.9, 1.0],
                  "watchers_max": [1, 3, 8], "subscribers": [FULL], "hours": [8.0]},
            seeds=3, task_cpu_s=120.0,
        ),
    },
    plots=(
        ratio_plot("average", "Overhead by how habitual people are", "habit",
                   "how often people go where they usually go", panel="foresees"),
    ),
    claims=(
        _beside_standard("prefetching", "that knows the way", foresees=True, habit=1.0,
                         kind="aside"),
        _beside_standard("prefetching", "by our predictor, people of habit", foresees=False,
                         habit=1.0),
        _beside_standard("prefetching", "by our predictor, half of the time", foresees=False,
                         habit=0.5, why="A wrong guess moves a session twice."),
        _beside_standard("watching", "by our predictor, people of habit", foresees=False,
                         habit=1.0),
        _beside_standard("watching", "by our predictor, half of the time", foresees=False,
                         habit=0.5, why="Filters go to several brokers, of which one is right."),
        Claim(
            says="multicast under watching over standard, our predictor, half of the time",
            quoted="small (if any) increases in the multicast traffic",
            value=over(
                mean_of("multicast", policy="watching", foresees=False, habit=0.5),
                mean_of("multicast", policy="standard", foresees=False, habit=0.5),
            ),
            least=0.9, most=1.1,
            why="With few subscribers hardly anybody else wants an event where it is watched.",
        ),
    ),
)  # fmt: skip

MOBILE_SHARE = Experiment(
    name="mobility-share",
    paper=PAPER,
    title="The load of a tenth of the users",
    shows="the abstract",
    measure=run_rows,
    judged_at=FEWEST,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["random"], "policy": ["standard"], "mobile_share": [0.1, 1.0],
                  "subscribers": [80], "publishers": [18], "hours": [0.75]},
            seeds=5, task_cpu_s=1.0,
        ),
        "paper": Sweep(
            grid={"scenario": ["random", "commute"], "policy": ["standard"],
                  "mobile_share": [0.1, 0.25, 0.5, 1.0], "subscribers": [FULL], "hours": [4.5]},
            seeds=3, task_cpu_s=60.0,
        ),
    },
    plots=(
        Plot(
            name="load", title="Overhead by the share of users that move", x="mobile_share",
            y="average", x_label="share of subscribers that move", y_label="unicast / multicast",
            series="scenario",
        ),
    ),
    claims=(
        Claim(
            says="load with a tenth of the users mobile, over that with none",
            quoted="must be doubled for just 10 % of mobile users",
            value=lambda rows: 1 + mean_of("average", scenario="random", mobile_share=0.1)(rows),
            least=1.8, most=2.2,
            why="The paper's tenth is of those that are in transfer at once, of subscribers that "
            "are all mobile; the curve over the share of mobile users has ours.",
        ),
    ),
)  # fmt: skip

MODEL = Experiment(
    name="mobility-model",
    paper=PAPER,
    title="The analytical model beside what was sent",
    shows="equations 1 to 5",
    measure=model_row,
    hands_on=CITY,
    scales={
        "small": Sweep(
            grid={"scenario": ["random"], "policy": ALL_POLICIES,
                  "subscribers": [30], "publishers": [18], "hours": [1.0]},
            seeds=5, task_cpu_s=1.2,
        ),
        "paper": Sweep(
            grid={"scenario": ["random", "commute"], "policy": ALL_POLICIES,
                  "subscribers": [FULL], "hours": [4.5]},
            seeds=3, task_cpu_s=60.0,
        ),
    },
    plots=(
        Plot(
            name="messages", title="Messages of moving, as sent", x="total_predicted",
            y="total_measured", x_label="by equations 1 to 5", y_label="sent", series="policy",
        ),
    ),
    claims=(
        *(
            Claim(
                says=f"messages sent under {policy} over those of the model",
                quoted="equations 1 to 4", least=0.9, most=1.1,
                value=over(
                    mean_of("total_measured", policy=policy),
                    mean_of("total_predicted", policy=policy),
                ),
            )
            for policy in ("standard", "home", "standard+device", "prefetching")
        ),
        Claim(
            says="events moved under logging over those of the model without logs",
            quoted="equation 5: logged events are hard to model",
            value=over(
                mean_of("events_measured", policy="logging"),
                mean_of("events_predicted", policy="logging"),
            ),
            most=1.0,
        ),
    ),
)  # fmt: skip

EXPERIMENTS: tuple[Experiment, ...] = (
    COMMUTE, RANDOM, LOCALITY, LOG_SIZE, PERVASIVE, FILTERS, PREDICTION, MOBILE_SHARE, MODEL,
)  # fmt: skip
