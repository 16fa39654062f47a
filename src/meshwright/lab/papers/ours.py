"""What we do otherwise than the papers, beside what they do, over many seeds."""

from __future__ import annotations

from typing import get_args

from meshwright.lab.experiments.experiment import Claim, Experiment, Plot, Sweep
from meshwright.lab.experiments.values import mean_of, ratio
from meshwright.lab.improvements.advising import measure_advice
from meshwright.lab.improvements.arranging import measure_arrangement
from meshwright.lab.improvements.placing import measure_placement
from meshwright.lab.improvements.recommending import POPULARITIES, measure_recommendation
from meshwright.lab.improvements.switching import measure_switch
from meshwright.pipeline.generators.parameters import PatternName

PAPER = "ours"
NO_NUMBER = "-"
PATTERNS = ("uniform", "multimodal")

SWITCH = Experiment(
    name="ours-switch",
    paper=PAPER,
    title="A change of overlay by epochs, and blocking as in DYNATOPS",
    shows="messages of a switch, and for how long publishers wait",
    measure=measure_switch,
    scales={
        "small": Sweep(
            grid={"broker_count": (20,), "swap_count": (1, 4)}, seeds=10, task_cpu_s=1.2
        ),
        "paper": Sweep(
            grid={"broker_count": (20, 100), "swap_count": (2, 5, 25)}, seeds=10, task_cpu_s=15.0
        ),
        "10x": Sweep(
            grid={"broker_count": (300,), "swap_count": (5, 50)}, seeds=10, task_cpu_s=120.0
        ),
    },
    plots=(
        Plot(
            name="ours-switch-messages",
            title="Messages of a switch",
            x="moved",
            y="messages",
            x_label="brokers that move",
            y_label="messages",
            series="protocol",
            panel="broker_count",
        ),
        Plot(
            name="ours-switch-answer",
            title="The slowest answer to a publisher during the switch",
            x="moved",
            y="answer_ms",
            x_label="brokers that move",
            y_label="ms",
            series="protocol",
            panel="broker_count",
        ),
    ),
    claims=(
        Claim(
            says="Messages of a switch by epochs, beside blocking",
            quoted=NO_NUMBER,
            value=ratio(
                mean_of("messages", protocol="by epochs"), mean_of("messages", protocol="blocking")
            ),
            most=1.0,
            kind="ours",
        ),
        Claim(
            says="For how long blocking holds clients",
            quoted=NO_NUMBER,
            value=mean_of("blocked_ms", protocol="blocking"),
            unit="ms",
            kind="check",
            why="By epochs nobody is held; nothing to compare with.",
        ),
        Claim(
            says="Slowest answer during a switch by epochs, beside the time before",
            quoted=NO_NUMBER,
            value=ratio(
                mean_of("answer_ms", protocol="by epochs"),
                mean_of("answer_ms_still", protocol="by epochs"),
            ),
            most=1.25,
            kind="check",
        ),
        Claim(
            says="Slowest answer during a blocking switch, beside the time before",
            quoted=NO_NUMBER,
            value=ratio(
                mean_of("answer_ms", protocol="blocking"),
                mean_of("answer_ms_still", protocol="blocking"),
            ),
            least=1.25,
            kind="check",
        ),
        Claim(
            says="Lost, doubled or reordered in either",
            quoted=NO_NUMBER,
            value=mean_of("violations"),
            most=0.0,
            each_seed=True,
            kind="check",
        ),
    ),
)

ARRANGEMENT = Experiment(
    name="ours-arrangement",
    paper=PAPER,
    title="Arrangement by `best`, dynatops-greedy and lsap",
    shows="cost left and net benefit, by how interests are spread",
    measure=measure_arrangement,
    scales={
        "small": Sweep(
            grid={
                "popularity": POPULARITIES,
                "broker_count": (40,),
                "topic_count": (40,),
                "topics_per_broker": (5,),
            },
            seeds=10,
            task_cpu_s=0.35,
        ),
        "paper": Sweep(
            grid={
                "popularity": POPULARITIES,
                "broker_count": (100,),
                "topic_count": (100,),
                "topics_per_broker": (3, 5, 10, 20),
            },
            seeds=10,
            task_cpu_s=2.0,
        ),
        "10x": Sweep(
            grid={
                "popularity": POPULARITIES,
                "broker_count": (1000,),
                "topic_count": (100, 1000),
                "topics_per_broker": (10,),
            },
            seeds=10,
            task_cpu_s=30.0,
        ),
    },
    plots=(
        Plot(
            name="ours-arrangement-net",
            title="Net benefit, as a share of the cost before",
            x="topics_per_broker",
            y="net_benefit",
            x_label="topics of a broker",
            y_label="net benefit / cost before",
            series="method",
            panel="popularity",
        ),
    ),
    claims=(
        *(
            Claim(
                says=f"Net benefit of best beside {method}, interests: {law}",
                quoted=NO_NUMBER,
                value=ratio(
                    mean_of("net_benefit", method="best", popularity=law),
                    mean_of("net_benefit", method=method, popularity=law),
                ),
                least=1.0,
                kind="ours",
            )
            for law in POPULARITIES
            for method in ("dynatops-greedy", "lsap")
        ),
        *(
            Claim(
                says=f"Cost that best leaves beside {method}, whatever the change costs",
                quoted=NO_NUMBER,
                value=ratio(
                    mean_of("cost_left", method="best"), mean_of("cost_left", method=method)
                ),
                most=1.0,
                kind="ours",
            )
            for method in ("dynatops-greedy", "lsap")
        ),
    ),
)

PLACEMENT = Experiment(
    name="ours-placement",
    paper=PAPER,
    title="Similarity with hysteresis and a cap, and as in DYNATOPS",
    shows="changes of broker subscriptions, and how clients are spread",
    measure=measure_placement,
    scales={
        "small": Sweep(
            grid={"pattern": PATTERNS, "start": ("random", "selected"), "client_count": (5_000,)},
            seeds=10,
            task_cpu_s=0.2,
        ),
        "paper": Sweep(
            grid={"pattern": PATTERNS, "start": ("random", "selected"), "client_count": (50_000,)},
            seeds=10,
            task_cpu_s=3.0,
        ),
        "10x": Sweep(
            grid={"pattern": PATTERNS, "start": ("random", "selected"), "client_count": (500_000,)},
            seeds=10,
            task_cpu_s=40.0,
        ),
    },
    plots=(
        Plot(
            name="ours-placement-changes",
            title="Changes of broker subscriptions in an hour",
            x="client_count",
            y="subscription_changes",
            x_label="clients",
            y_label="changes",
            series="method",
            panel="pattern",
            where={"start": "random"},
        ),
        Plot(
            name="ours-placement-load",
            title="Deviation of clients over brokers, as a share of the mean",
            x="client_count",
            y="load_deviation",
            x_label="clients",
            y_label="deviation / mean",
            series="method",
            panel="pattern",
            where={"start": "selected"},
        ),
    ),
    claims=(
        *(
            Claim(
                says=f"Load deviation with hysteresis and cap beside similarity, {pattern}",
                quoted=NO_NUMBER,
                value=ratio(
                    mean_of("load_deviation", method="hysteresis and cap", pattern=pattern),
                    mean_of("load_deviation", method="similarity", pattern=pattern),
                ),
                most=1.0,
                kind="ours",
            )
            for pattern in PATTERNS
        ),
        *(
            Claim(
                says="Subscription changes with hysteresis and cap beside similarity, "
                f"{pattern}, clients come to {start} brokers",
                quoted=NO_NUMBER,
                value=ratio(
                    mean_of(
                        "subscription_changes",
                        method="hysteresis and cap",
                        pattern=pattern,
                        start=start,
                    ),
                    mean_of(
                        "subscription_changes", method="similarity", pattern=pattern, start=start
                    ),
                ),
                most=1.0,
                kind="ours",
                why="The cap is what costs: without it, changes are as few as similarity's, and "
                "clients as gathered. Where they are spread, subscriptions come and go.",
            )
            for pattern in PATTERNS
            for start in ("random", "selected")
        ),
        *(
            Claim(
                says="Subscription changes with hysteresis alone beside similarity, "
                f"{pattern}, clients come to selected brokers",
                quoted=NO_NUMBER,
                value=ratio(
                    mean_of(
                        "subscription_changes",
                        method="hysteresis alone",
                        pattern=pattern,
                        start="selected",
                    ),
                    mean_of(
                        "subscription_changes",
                        method="similarity",
                        pattern=pattern,
                        start="selected",
                    ),
                ),
                most=1.0,
                kind="ours",
            )
            for pattern in PATTERNS
        ),
        Claim(
            says="Subscription changes with hysteresis and cap beside the cap alone, uniform",
            quoted=NO_NUMBER,
            value=ratio(
                mean_of("subscription_changes", method="hysteresis and cap", pattern="uniform"),
                mean_of("subscription_changes", method="cap alone", pattern="uniform"),
            ),
            most=1.0,
            kind="ours",
        ),
    ),
)

RECOMMENDATION = Experiment(
    name="ours-recommendation",
    paper=PAPER,
    title="The recommended design beside all designs tried on what came after",
    shows="how often the recommendation wins, and how much dearer it is where it does not",
    measure=measure_recommendation,
    scales={
        "small": Sweep(
            grid={
                "popularity": POPULARITIES,
                "seen_publications": (100, 10_000),
                "changed_share": (0.0, 0.2),
            },
            seeds=12,
            task_cpu_s=0.35,
        ),
        "paper": Sweep(
            grid={
                "popularity": POPULARITIES,
                "seen_publications": (100, 1_000, 10_000),
                "changed_share": (0.0, 0.1, 0.2, 0.5),
                "broker_count": (24, 60),
            },
            seeds=50,
            task_cpu_s=2.0,
        ),
        "10x": Sweep(
            grid={
                "popularity": POPULARITIES,
                "seen_publications": (1_000, 100_000),
                "changed_share": (0.0, 0.2),
                "broker_count": (240,),
            },
            seeds=20,
            task_cpu_s=60.0,
        ),
    },
    plots=(
        Plot(
            name="ours-recommendation",
            title="How often the recommended design wins",
            x="seen_publications",
            y="is_winner",
            x_label="publications seen before",
            y_label="share of workloads",
            series="popularity",
            panel="changed_share",
            log_x=True,
        ),
    ),
    claims=(
        Claim(
            says="Share of workloads in which the recommended design wins, 10,000 seen",
            quoted=NO_NUMBER,
            value=mean_of("is_winner", seen_publications=10_000, changed_share=0.0),
            least=0.9,
            kind="check",
        ),
        Claim(
            says="The same after 100 publications, with a fifth of interests changed later",
            quoted=NO_NUMBER,
            value=mean_of("is_winner", seen_publications=100, changed_share=0.2),
            least=0.5,
            kind="check",
        ),
        Claim(
            says="How much dearer the recommended design is than the winner",
            quoted=NO_NUMBER,
            value=mean_of("dearer"),
            most=5.0,
            unit="%",
            kind="check",
        ),
        Claim(
            says="How much dearer the median of the fitting designs is",
            quoted=NO_NUMBER,
            value=mean_of("median_dearer"),
            unit="%",
            kind="check",
            why="What a choice by chance would cost; nothing to compare with.",
        ),
    ),
)

ADVICE = Experiment(
    name="ours-advice",
    paper=PAPER,
    title="What `compare` advises, beside an exhaustive replay of what came after",
    shows="how often the line that a comparison advises wins the replay of the second half",
    measure=measure_advice,
    scales={
        "small": Sweep(
            grid={
                "pattern": get_args(PatternName),
                "publications_per_hour": (1.0, 30.0),
                "slots_left_out": (0, 1),
            },
            seeds=10,
            task_cpu_s=1.5,
        ),
        "paper": Sweep(
            grid={
                "pattern": get_args(PatternName),
                "publications_per_hour": (1.0, 30.0),
                "slots_left_out": (0, 1),
                "changes_per_hour": (0.025, 0.1, 0.4),
                "users": (5000,),
                "brokers": (50,),
                "topics": (200,),
            },
            seeds=20,
            task_cpu_s=20.0,
        ),
    },
    plots=(
        Plot(
            name="ours-advice",
            title="How much dearer what is advised is than the winner",
            x="publications_per_hour",
            y="dearer",
            x_label="publications of a topic in an hour",
            y_label="dearer, %",
            series="pattern",
            panel="slots_left_out",
            log_x=True,
        ),
    ),
    claims=(
        Claim(
            says="Share of traces in which the line that was advised wins what came after, advised "
            "without the first slot",
            quoted=NO_NUMBER,
            value=mean_of("is_winner", slots_left_out=1),
            least=0.5,
            kind="check",
        ),
        *(
            Claim(
                says="How much dearer what was advised is than the winner of what came after, "
                f"advised {words} the first slot",
                quoted=NO_NUMBER,
                value=mean_of("dearer", slots_left_out=slots),
                most=5.0,
                unit="%",
                kind="check",
                why="All clients come in the first slot, so that subscriptions seem to be most of "
                "the price where little is published, and designs of few links are advised; "
                "`compare --warmup 1` leaves it out.",
            )
            for slots, words in ((0, "with"), (1, "without"))
        ),
        Claim(
            says="How much dearer the median of the fitting lines is",
            quoted=NO_NUMBER,
            value=mean_of("median_dearer"),
            unit="%",
            kind="check",
            why="What a choice by chance would cost; nothing to compare with.",
        ),
    ),
)

EXPERIMENTS: tuple[Experiment, ...] = (SWITCH, ARRANGEMENT, PLACEMENT, RECOMMENDATION, ADVICE)
