"""OCBR: what a tree that adapts saves, how soon, and what that costs; the paper has no numbers."""

from __future__ import annotations

from meshwright.lab.adapting.demand import KINDS
from meshwright.lab.adapting.planned import (
    NEVER,
    ROUNDS_SHOWN,
    measure_clients,
    measure_drift,
    measure_gap,
    measure_rounds,
    measure_search,
    measure_weights,
)
from meshwright.lab.adapting.simulated import measure_other_topics, measure_self_adaptation
from meshwright.lab.experiments.experiment import Claim, Experiment, Plot, Sweep
from meshwright.lab.experiments.values import difference, mean_of, ratio

PAPER = "ocbr"
# How long a link stays tabu: our choice, and lists that never forget, as the paper prints them.
TENURES = (7, NEVER)
WEIGHTS = ("1:0", "3:1", "1:1", "1:3", "0:1")
NO_NUMBER = "-"

ROUNDS = Experiment(
    name="ocbr-rounds",
    paper=PAPER,
    title="The cost of a tree, round by round",
    shows="cost against rounds, and rounds until nobody improves; not in the paper",
    measure=measure_rounds,
    scales={
        "small": Sweep(
            grid={"kind": KINDS, "broker_count": (20, 60), "gain_share_min": (0.0, 0.02)},
            seeds=20,
            task_cpu_s=0.05,
        ),
        "paper": Sweep(
            grid={"kind": KINDS, "broker_count": (20, 60, 200), "gain_share_min": (0.0, 0.02)},
            seeds=30,
            task_cpu_s=0.3,
        ),
        "10x": Sweep(
            grid={"kind": KINDS, "broker_count": (600, 2000), "gain_share_min": (0.0, 0.02)},
            seeds=30,
            task_cpu_s=8.0,
        ),
    },
    plots=(
        Plot(
            name="ocbr-cost-by-round",
            title="Cost after each round, of a tree of 60 brokers",
            x="round",
            y="cost_share",
            x_label="round",
            y_label="cost, as a share of a tree that stays",
            series="tree",
            panel="kind",
            where={"broker_count": 60, "gain_share_min": 0.02},
        ),
        Plot(
            name="ocbr-rounds-by-size",
            title="Rounds until nobody improves",
            x="broker_count",
            y="rounds",
            x_label="brokers",
            y_label="rounds",
            series="kind",
            panel="gain_share_min",
            where={"tree": "adapts", "round": 0},
        ),
    ),
    claims=(
        Claim(
            says="Every change lowers the cost of the whole tree (share of runs)",
            quoted="every OCBR local reconfiguration is guaranteed to reduce the overall cost",
            value=mean_of("falls"),
            least=1.0,
        ),
        Claim(
            says="What brokers save around themselves adds up to what the tree saves (of runs)",
            quoted="the improvement to the local cost equals the improvement in the global cost",
            value=mean_of("is_exact"),
            least=1.0,
        ),
        Claim(
            says=f"Rounds until nobody improves, at most {ROUNDS_SHOWN}",
            quoted="will eventually terminate",
            value=lambda rows: float(rows["rounds"].max()),
            most=float(ROUNDS_SHOWN),
        ),
        *(
            Claim(
                says=f"Cost of a tree that adapts beside one that stays, traffic: {kind}",
                quoted=NO_NUMBER,
                value=mean_of("cost_share_end", kind=kind, gain_share_min=0.02),
                most=1.0,
                kind="check",
            )
            for kind in KINDS
        ),
        Claim(
            says="Changes if only gains of 2 % are taken, beside taking every gain",
            quoted=NO_NUMBER,
            value=ratio(
                mean_of("changes", gain_share_min=0.02), mean_of("changes", gain_share_min=0.0)
            ),
            most=1.0,
            kind="ours",
        ),
        Claim(
            says="Cost if only gains of 2 % are taken, beside taking every gain",
            quoted=NO_NUMBER,
            value=ratio(
                mean_of("cost_share_end", gain_share_min=0.02),
                mean_of("cost_share_end", gain_share_min=0.0),
            ),
            most=1.0,
            kind="ours",
            why="The price of fewer changes.",
        ),
    ),
)

GAP = Experiment(
    name="ocbr-gap",
    paper=PAPER,
    title="How far above the cheapest of all trees",
    shows="the gap to the exhaustive optimum on small trees; not in the paper",
    measure=measure_gap,
    scales={
        "small": Sweep(
            grid={"kind": KINDS, "broker_count": (4, 5, 6, 7), "tenure": TENURES},
            seeds=30,
            task_cpu_s=0.02,
        ),
        "paper": Sweep(
            grid={"kind": KINDS, "broker_count": (4, 5, 6, 7), "tenure": TENURES},
            seeds=200,
            task_cpu_s=0.05,
        ),
        "10x": Sweep(
            grid={"kind": KINDS, "broker_count": (5, 6, 7, 8), "tenure": TENURES},
            seeds=300,
            task_cpu_s=0.6,
        ),
    },
    plots=(
        Plot(
            name="ocbr-gap",
            title="Above the optimum when nobody improves",
            x="broker_count",
            y="gap",
            x_label="brokers",
            y_label="cost above the optimum (%)",
            series="kind",
            panel="lists",
        ),
    ),
    claims=(
        Claim(
            says="Cost above the optimum before adapting, 4 to 7 brokers",
            quoted=NO_NUMBER,
            value=mean_of("gap_before"),
            unit="%",
            kind="check",
            why="What there is to gain; nothing to compare with.",
        ),
        Claim(
            says="Cost above the optimum when nobody improves, 4 to 7 brokers",
            quoted=NO_NUMBER,
            value=mean_of("gap", tenure=7),
            most=1.0,
            unit="%",
            kind="check",
        ),
        Claim(
            says="Share of trees that end at the optimum",
            quoted=NO_NUMBER,
            value=mean_of("is_optimal", tenure=7),
            kind="check",
            why="Nothing to compare with.",
        ),
    ),
)

SEARCH = Experiment(
    name="ocbr-search",
    paper=PAPER,
    title="The effort of one search: n, N and how long a link stays tabu",
    shows="n and N of figure 3, swept; not measured in the paper",
    measure=measure_search,
    scales={
        "small": Sweep(
            grid={
                "neighbour_count": (14,),
                "tenure": TENURES,
                "iterations": (5, 10, 20, 50, 100),
                "moves_max": (5, 50),
            },
            seeds=30,
            task_cpu_s=0.01,
        ),
        "paper": Sweep(
            grid={
                "neighbour_count": (8, 14, 20),
                "tenure": (3, 7, 15, NEVER),
                "iterations": (5, 10, 20, 50, 100, 200),
                "moves_max": (5, 20, 50, 100),
            },
            seeds=50,
            task_cpu_s=0.05,
        ),
        "10x": Sweep(
            grid={
                "neighbour_count": (40,),
                "tenure": (7, NEVER),
                "iterations": (50, 200, 1000),
                "moves_max": (50, 500),
            },
            seeds=50,
            task_cpu_s=5.0,
        ),
    },
    plots=(
        Plot(
            name="ocbr-search",
            title="What one search leaves of a star's cost, 14 neighbours",
            x="iterations",
            y="cost_left",
            x_label="iterations (n)",
            y_label="cost of the star (%)",
            series="lists",
            panel="moves_max",
            where={"neighbour_count": 14},
            log_x=True,
        ),
    ),
    claims=(
        Claim(
            says="What lists that never forget leave more of the cost than lists of 7, n = N = 50",
            quoted=NO_NUMBER,
            value=difference(
                mean_of("cost_left", tenure=NEVER, iterations=50, moves_max=50),
                mean_of("cost_left", tenure=7, iterations=50, moves_max=50),
            ),
            least=0.0,
            unit="% of the star",
            kind="check",
        ),
        Claim(
            says="What lists that never forget still gain from iteration 20 to 100: they starve",
            quoted=NO_NUMBER,
            value=difference(
                mean_of("cost_left", tenure=NEVER, iterations=20, moves_max=50),
                mean_of("cost_left", tenure=NEVER, iterations=100, moves_max=50),
            ),
            most=0.1,
            unit="% of the star",
            kind="check",
        ),
        Claim(
            says="What lists of 7 gain from iteration 20 to 100",
            quoted=NO_NUMBER,
            value=difference(
                mean_of("cost_left", tenure=7, iterations=20, moves_max=50),
                mean_of("cost_left", tenure=7, iterations=100, moves_max=50),
            ),
            least=0.1,
            unit="% of the star",
            kind="check",
        ),
    ),
)

WEIGHED = Experiment(
    name="ocbr-weights",
    paper=PAPER,
    title="Links against brokers: alpha and beta",
    shows="the compromise between alpha and beta of equation 1, swept",
    measure=measure_weights,
    scales={
        "small": Sweep(
            grid={"weights": WEIGHTS, "kind": KINDS, "broker_count": (40,)},
            seeds=20,
            task_cpu_s=0.05,
        ),
        "paper": Sweep(
            grid={"weights": WEIGHTS, "kind": KINDS, "broker_count": (100,)},
            seeds=30,
            task_cpu_s=0.4,
        ),
        "10x": Sweep(
            grid={"weights": WEIGHTS, "kind": KINDS, "broker_count": (1000,)},
            seeds=30,
            task_cpu_s=8.0,
        ),
    },
    plots=(
        Plot(
            name="ocbr-weights",
            title="What is left of each part of the cost",
            x="weight_of_links",
            y="left",
            x_label="alpha / (alpha + beta)",
            y_label="as a share of before",
            series="part",
            panel="kind",
        ),
    ),
    claims=(
        Claim(
            says="Links cost less where only links count than where only brokers do",
            quoted="alpha and beta must be chosen to find the required compromise",
            value=ratio(
                mean_of("left", part="links", weights="1:0"),
                mean_of("left", part="links", weights="0:1"),
            ),
            most=1.0,
        ),
        Claim(
            says="Brokers cost less where only brokers count than where only links do",
            quoted="alpha and beta must be chosen to find the required compromise",
            value=ratio(
                mean_of("left", part="brokers", weights="0:1"),
                mean_of("left", part="brokers", weights="1:0"),
            ),
            most=1.0,
        ),
    ),
)

DRIFT = Experiment(
    name="ocbr-drift",
    paper=PAPER,
    title="Demand that drifts",
    shows="trees that adapt to the period before, when traffic changes; not in the paper",
    measure=measure_drift,
    scales={
        "small": Sweep(
            grid={"drift_share": (0.0, 0.1, 0.5), "kind": KINDS, "broker_count": (24,)},
            seeds=10,
            task_cpu_s=0.4,
        ),
        "paper": Sweep(
            grid={"drift_share": (0.0, 0.1, 0.3, 0.5, 1.0), "kind": KINDS, "broker_count": (100,)},
            seeds=30,
            task_cpu_s=4.0,
        ),
        "10x": Sweep(
            grid={"drift_share": (0.0, 0.1, 0.5), "kind": KINDS, "broker_count": (1000,)},
            seeds=10,
            task_cpu_s=120.0,
        ),
    },
    plots=tuple(
        Plot(
            name=f"ocbr-drift-{kind}",
            title=f"Cost while traffic drifts: {kind}",
            x="period",
            y="cost_share",
            x_label="period",
            y_label="cost, as a share of a tree that stays",
            series="tree",
            panel="drift_share",
            where={"kind": kind},
        )
        for kind in KINDS
    ),
    claims=tuple(
        Claim(
            says=f"Cost with all switches beside a tree that stays, {share:.0%} of traffic "
            "new in each period",
            quoted=NO_NUMBER,
            value=mean_of("cost_share", tree="adapts, with switches", drift_share=share),
            most=1.0,
            kind="check",
        )
        for share in (0.0, 0.1, 0.5)
    ),
)

CLIENTS = Experiment(
    name="ocbr-clients",
    paper=PAPER,
    title="Clients that move with the tree",
    shows="the paper's clients as vertices that may move, beside clients that stay",
    measure=measure_clients,
    scales={
        "small": Sweep(
            grid={"kind": KINDS, "broker_count": (20, 40), "move_clients": (False, True)},
            seeds=20,
            task_cpu_s=0.05,
        ),
        "paper": Sweep(
            grid={"kind": KINDS, "broker_count": (20, 40, 100), "move_clients": (False, True)},
            seeds=30,
            task_cpu_s=0.4,
        ),
        "10x": Sweep(
            grid={"kind": KINDS, "broker_count": (400,), "move_clients": (False, True)},
            seeds=30,
            task_cpu_s=8.0,
        ),
    },
    plots=(
        Plot(
            name="ocbr-clients",
            title="What is left of the cost",
            x="broker_count",
            y="cost_left",
            x_label="brokers",
            y_label="as a share of before",
            series="clients",
            panel="kind",
        ),
    ),
    claims=(
        Claim(
            says="Cost if clients move, too, beside clients that stay",
            quoted=NO_NUMBER,
            value=ratio(mean_of("cost_left", clients="move"), mean_of("cost_left", clients="stay")),
            most=1.0,
            kind="check",
        ),
        Claim(
            says="Share of all clients at the fullest broker then",
            quoted=NO_NUMBER,
            value=mean_of("fullest_share", clients="move"),
            kind="check",
            why="Equation 1 has no limit: it is least where all are at one broker, so clients stay "
            "unless an operator lets them move.",
        ),
    ),
)

LIVE = Experiment(
    name="ocbr-brokers",
    paper=PAPER,
    title="Simulated brokers that adapt by themselves",
    shows="messages saved, and the price of a change that locks its neighbourhood alone",
    measure=measure_self_adaptation,
    scales={
        "small": Sweep(
            grid={"popularity": ("multimodal", "unif"), "broker_count": (16,)},
            seeds=10,
            task_cpu_s=1.5,
        ),
        "paper": Sweep(
            grid={"popularity": ("multimodal", "unif", "zipf"), "broker_count": (16, 40)},
            seeds=20,
            task_cpu_s=6.0,
        ),
        "10x": Sweep(
            grid={"popularity": ("multimodal", "unif"), "broker_count": (160,)},
            seeds=10,
            task_cpu_s=120.0,
        ),
    },
    plots=(
        Plot(
            name="ocbr-brokers",
            title="Messages for a publication, as a share of before",
            x="broker_count",
            y="messages_left",
            x_label="brokers",
            y_label="as a share of before",
            series="popularity",
        ),
    ),
    claims=(
        *(
            Claim(
                says=f"Messages for a publication after adapting, of before, interests: {law}",
                quoted=NO_NUMBER,
                value=mean_of("messages_left", popularity=law),
                most=1.0,
                kind="check",
            )
            for law in ("multimodal", "unif")
        ),
        Claim(
            says="Messages of a change with the neighbourhood locked, beside all brokers locked",
            quoted=NO_NUMBER,
            value=ratio(mean_of("messages_per_change"), mean_of("whole_messages")),
            most=1.0,
            kind="ours",
        ),
        Claim(
            says="Share of the brokers that a change locks",
            quoted=NO_NUMBER,
            value=mean_of("locked_share"),
            kind="check",
            why="With a lock of all brokers it would be 1; nothing to compare with.",
        ),
        Claim(
            says="Lost, doubled or reordered while trees change",
            quoted=NO_NUMBER,
            value=lambda rows: float(rows["violations"].sum()),
            most=0.0,
            each_seed=True,
            kind="check",
        ),
    ),
)

OTHER_TOPICS = Experiment(
    name="ocbr-other-topics",
    paper=PAPER,
    title="Simulated brokers when other topics come into use",
    shows="demand that drifts all at once; not in the paper",
    measure=measure_other_topics,
    scales={
        "small": Sweep(grid={"broker_count": (16,)}, seeds=10, task_cpu_s=2.9),
        "paper": Sweep(grid={"broker_count": (16, 40)}, seeds=20, task_cpu_s=10.0),
        "10x": Sweep(grid={"broker_count": (160,)}, seeds=10, task_cpu_s=200.0),
    },
    plots=(
        Plot(
            name="ocbr-other-topics",
            title="Messages for a publication; other topics after half of the time",
            x="time_s",
            y="messages_per_publication",
            x_label="time (s)",
            y_label="messages",
            series="tree",
            panel="broker_count",
        ),
    ),
    claims=(
        Claim(
            says="Messages for a publication in the end, beside a tree that stays",
            quoted=NO_NUMBER,
            value=lambda rows: ratio(
                mean_of("messages_per_publication", tree="adapts"),
                mean_of("messages_per_publication", tree="stays"),
            )(rows[rows["time_s"] == rows["time_s"].max()]),
            most=1.0,
            kind="check",
        ),
    ),
)

EXPERIMENTS: tuple[Experiment, ...] = (
    ROUNDS,
    GAP,
    SEARCH,
    WEIGHED,
    DRIFT,
    CLIENTS,
    LIVE,
    OTHER_TOPICS,
)
