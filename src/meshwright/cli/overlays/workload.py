"""meshwright workload: make the files that the other commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from meshwright.cli.console.options import Json, Seed, finite
from meshwright.cli.console.screen import answer, working
from meshwright.model.wording import counted

app = typer.Typer(no_args_is_help=True, help="Make interests and rates to plan for.")

Popularity = Literal["unif", "zipf", "expo", "multimodal"]


@app.callback()
def workload() -> None:
    """Make interests and rates to plan for."""


@app.command()
def generate(
    *,
    brokers: Annotated[int, typer.Option("--brokers", min=2, help="Number of brokers.")],
    topics: Annotated[int, typer.Option("--topics", min=1, help="Topics to draw from.")],
    topics_per_broker: Annotated[
        int, typer.Option("--topics-per-broker", min=1, help="Topics that each broker wants.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the two files.")],
    popularity: Annotated[
        Popularity, typer.Option("--popularity", help="How unequal the topics are.")
    ] = "unif",
    publications: Annotated[
        float,
        typer.Option(
            "--publications", min=0.0, callback=finite, help="Publications of each topic."
        ),
    ] = 100.0,
    zipf_exponent: Annotated[
        float,
        typer.Option("--zipf-exponent", min=0.0, callback=finite, help="Of zipf: p(t) ~ t^-a."),
    ] = 2.0,
    expo_decay: Annotated[
        float,
        typer.Option(
            "--expo-decay", min=0.0, callback=finite, help="Of expo: p(t) ~ exp(-a t / topics)."
        ),
    ] = 18.4,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw who wants what; write interests.csv and rates.csv. Topics nobody drew are left out.

    Example: meshwright workload generate --brokers 100 --topics 50 --topics-per-broker 5
    --popularity zipf --out network
    """
    from meshwright.files.snapshots import write_snapshot
    from meshwright.lab.workloads import Exponents, generate_snapshot

    with working("Drawing interests"):
        snapshot = generate_snapshot(
            brokers,
            topics,
            topics_per_broker,
            popularity,
            seed=seed,
            publications_per_topic=publications,
            exponents=Exponents(zipf=zipf_exponent, expo=expo_decay),
        )
    interests_path, rates_path = write_snapshot(snapshot, out)
    undrawn = topics - len(snapshot.topics)
    left = f"; {counted(undrawn, 'topic')} that nobody drew left out" if undrawn else ""
    answer(
        as_json,
        {
            "command": "workload generate",
            "seed": seed,
            "popularity": popularity,
            "brokers": len(snapshot.brokers),
            "topics": len(snapshot.topics),
            "pairs": snapshot.interests.pair_count,
            "interests": str(interests_path),
            "rates": str(rates_path),
        },
        f"{interests_path}: {counted(len(snapshot.brokers), 'broker')}, "
        f"{counted(len(snapshot.topics), 'topic')}, "
        f"{counted(snapshot.interests.pair_count, 'pair')} of them{left}",
        f"{rates_path}: {publications:g} publications of each topic",
    )
