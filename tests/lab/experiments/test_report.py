from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from meshwright.errors import InputFileError, OperatorError
from meshwright.lab.experiments.catalogue import all_experiments, chosen_experiments
from meshwright.lab.experiments.experiment import (
    SCALES,
    Claim,
    Experiment,
    Plot,
    Scale,
    Sweep,
)
from meshwright.lab.experiments.findings import Finding, Run, found_in
from meshwright.lab.experiments.report import report_lines, report_page, update_papers
from meshwright.lab.experiments.results import Question
from meshwright.lab.experiments.running import ordered

ROWS = pd.DataFrame(
    {
        "task": range(12),
        "seed": [0, 1, 2] * 4,
        "task_cpu_s": 0.5,
        "design": ["gm"] * 6 + ["best"] * 6,
        "brokers": ([10] * 3 + [20] * 3) * 2,
        "degree": [4.0, 4.1, 3.9, 5.0, 5.1, 4.9, 3.0, 3.1, 2.9, 3.5, 3.6, 3.4],
    }
)
CLAIMS = (
    Claim(
        says="gm has 3 links", quoted="3 & more", value=lambda rows: rows.degree.max(), most=3.0,
        why="Ties are not ours to choose.",
    ),
    Claim(
        says="best has fewer links than gm", quoted="-", kind="ours", most=1.0,
        value=lambda rows: rows[rows.design == "best"].degree.mean()
        / rows[rows.design == "gm"].degree.mean(),
    ),
)  # fmt: skip
PLOT = Plot(
    name="degree",
    title="Links of a broker",
    x="brokers",
    y="degree",
    x_label="brokers",
    y_label="links",
    series="design",
)
EXPERIMENT = Experiment(
    name="ktco-try",
    paper="ktco",
    title="Links against brokers",
    shows="figure 3",
    measure=dict,
    scales={"small": Sweep(grid={}, seeds=3, task_cpu_s=1.0)},
    plots=(PLOT,),
    claims=CLAIMS,
)


def run_at(scale: Scale, rows: pd.DataFrame, designs: tuple[str, ...] = ("gm", "best")) -> Run:
    question = Question(
        experiment="ktco-try",
        scale=scale,
        grid={"design": list(designs), "brokers": [10, 20]},
        fixed={"k": 2, "start": "random"},
        seeds=3,
        version="1",
        sources="",
        asked_at="d",
    )
    return Run(question, rows, 0)


@pytest.fixture
def found() -> list[Finding]:
    return [found_in(EXPERIMENT, [run_at("small", ROWS)])]


def test_each_claim_is_told_by_the_largest_scale_that_can() -> None:
    only_gm = ROWS[ROWS.design == "gm"].assign(degree=7.0)
    finding = found_in(EXPERIMENT, [run_at("small", ROWS), run_at("paper", only_gm, ("gm",))])
    assert [
        (one.run.question.scale, one.judgement.estimate and one.judgement.estimate.mean)
        for one in finding.claims
    ] == [("paper", 7.0), ("small", pytest.approx(13 / 18, abs=0.01))]
    assert finding.told.startswith("scale paper, 3 seeds")
    page = report_page([finding]).decode()
    assert "paper, 3 seeds" in page
    assert "small, 3 seeds" in page
    assert page.count("<svg") == 1


def test_a_seed_that_lacks_some_of_its_tasks_tells_nothing() -> None:
    begun = ROWS[(ROWS.seed < 2) | (ROWS.brokers == 10)]
    told = found_in(EXPERIMENT, [run_at("paper", begun)]).claims[0].judgement
    assert told.estimate is not None
    assert (told.estimate.mean, told.estimate.seeds) == (pytest.approx(5.05), 2)
    alone = found_in(EXPERIMENT, [run_at("paper", ROWS[ROWS.brokers == 10])]).claims[0].judgement
    assert (alone.verdict, alone.reason) == ("cannot be told", "No seed has all its tasks yet.")


def test_a_report_says_first_what_does_not_reproduce(found: list[Finding]) -> None:
    page = report_page(found).decode()
    assert page.index("What does not reproduce") < page.index("Where our methods beat")
    assert page.index("Where our methods beat") < page.index("<h2 id='ktco'>")
    assert "1 comparison with 1 statement of the papers: 0 reproduce, 1 do not" in page
    assert "<td class='quiet' data-head='reproduced if'>3 or less</td>" in page
    assert "Not swept: k 2, start random" in page
    assert "3 &amp; more" in page
    assert "Ties are not ours to choose." in page
    assert page.count("<svg") == 1


def test_a_terminal_gets_a_line_a_claim_with_our_number_beside_the_papers(
    found: list[Finding],
) -> None:
    *lines, summary = report_lines(found)
    assert lines == [
        "\nktco-try: Links against brokers",
        "  does not reproduce  gm has 3 links: 5.00 ± 0.25 (paper: 3 & more)",
        "  better              best has fewer links than gm: 0.722 ± 0.015",
    ]
    assert summary.startswith("\n1 comparison with 1 statement of the papers: 0 reproduce, 1 do")


def test_a_papers_page_gets_numbers_and_figures_between_its_marks(
    found: list[Finding], tmp_path: Path
) -> None:
    page = tmp_path / "ktco.md"
    overview = tmp_path / "README.md"
    for one in (page, overview):
        one.write_text("# Before\n\n<!-- lab: begin -->\nold\n<!-- lab: end -->\n\nAfter.\n")
    for _ in range(2):  # written again, it stays as it is
        update_papers(found, tmp_path)
        text = page.read_text()
        assert text.startswith("# Before\n\n<!-- lab: begin -->\n\n### Links against brokers\n")
        assert text.endswith("<!-- lab: end -->\n\nAfter.\n")
        assert "old" not in text
        assert "**does not reproduce**. Ties are not ours to choose." in " ".join(text.split())
        assert max(map(len, text.splitlines())) <= 100
        assert (tmp_path / "figures" / "ktco-try-degree.svg").read_text().startswith("<?xml")
    short = " ".join(overview.read_text().split())
    assert "1 comparison with 1 statement of the papers: 0 reproduce, 1 do not" in short
    assert "- gm has 3 links. Paper: 3 & more. Ours: 5.0" in short
    assert "([ktco-try](ktco.md): small, 3 seeds)." in short
    page.write_text("# No place")
    with pytest.raises(InputFileError, match="no place for results"):
        update_papers(found, tmp_path)


def test_every_experiment_has_what_the_commands_ask_of_it() -> None:
    for name, experiment in all_experiments().items():
        assert name == experiment.name
        assert name.startswith(f"{experiment.paper}-")
        assert set(experiment.scales) <= set(SCALES)
        assert "small" in experiment.scales
        assert experiment.measure.__module__.startswith("meshwright.lab.")
        plots = [plot.name for plot in experiment.plots]
        assert len(plots) == len(set(plots))


def test_experiments_are_chosen_by_name_or_paper_and_a_wrong_name_gets_the_nearest() -> None:
    known = all_experiments()
    assert chosen_experiments(["all"]) == [one for one in known.values() if not one.needs_trace]
    first = next(iter(known.values()))
    assert chosen_experiments([first.name, first.name]) == [first]
    assert first in chosen_experiments([first.paper])
    with pytest.raises(OperatorError, match="name its folder with --trace"):
        ordered(chosen_experiments(["traffic"]), "small")
    with pytest.raises(OperatorError, match=f"did you mean '{first.name}'"):
        chosen_experiments([first.name + "x"])
