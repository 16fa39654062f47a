"""meshwright pipeline run: all stages of a replay, kept, so that only what changed is run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.console.options import Conf, Json, Master, Memory, Remote, Ui
from meshwright.cli.console.screen import answer, plain_table
from meshwright.cli.console.spark import chosen_spark, is_short_work, spark_work
from meshwright.pipeline.places.place import place_of

Ran = tuple[str, bool, float]


def run(
    *,
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="What to replay and how.")],
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Replay a trace stage by stage; a stage whose inputs and parameters did not change is kept.

    Example: meshwright pipeline run replay.toml
    """
    from meshwright.cli.traces.replay_answer import replay_parts, write_report
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.settings import read_settings
    from meshwright.files.writing import refuse_folder
    from meshwright.pipeline.replays.findings import compared, way_there
    from meshwright.pipeline.replays.keeping import Keeper
    from meshwright.pipeline.replays.parameters import RunSettings
    from meshwright.pipeline.replays.replay import replay_trace
    from meshwright.pipeline.replays.wishes import refuse_impossible

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    settings = read_settings(config, RunSettings, documented_in="docs/FILES.md")
    parameters = settings.parameters()
    trace, out = (place_of(name, config.parent) for name in (settings.trace, settings.out))
    if isinstance(trace, Path):
        refuse_impossible(trace, parameters)  # before Spark starts
    today = None if settings.source is None else read_overlay_or_target(settings.source)
    if isinstance(out, Path):
        refuse_folder(out)
    ran: list[Ran] = []
    is_short = is_short_work(trace)
    with spark_work("Running the stages", spark, is_short=is_short, only_in=out) as work:
        keeper = Keeper(
            work.session,
            out / "stages",
            on_begin=work.say,
            on_stage=lambda *stage: ran.append(stage),
        )
        replay = replay_trace(work.session, trace, parameters, keeper, today)
        candidates, found = compared(replay)
        way = None if today is None else way_there(replay, trace, found)
        files = write_report(replay, trace, candidates, found, out, way=way)
        document, (told, *shown) = replay_parts(replay, trace, candidates, found, files, way=way)
    stages = [
        {"stage": name, "ran": is_new, "seconds": seconds, "folder": str(keeper.folders[name])}
        for name, is_new, seconds in ran
    ]
    table = plain_table(
        {"stage": False, "": False, "seconds": True},
        ([name, "ran" if is_new else "kept", f"{seconds:.1f}"] for name, is_new, seconds in ran),
    )
    answer(as_json, {"command": "pipeline run", **document, "stages": stages}, told, table, *shown)
