"""The command as a whole: help, version, exit codes, quiet streams."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from commands import answered, call, refused, small_network, small_tree

from meshwright import __version__
from meshwright.cli import main
from meshwright.cli.console.options import KEY_GEOMETRIES as GEOMETRIES_OFFERED
from meshwright.cli.console.options import Method
from meshwright.model.designs import DESIGNS
from meshwright.overlays.key_geometries import KEY_GEOMETRIES
from meshwright.planning.arrangement.methods import METHODS

COMMANDS = [
    "workload generate", "overlay build", "overlay check", "overlay arrange", "overlay adapt",
    "overlay evaluate", "overlay compare", "overlay draw", "overlay tour", "demo", "sweep",
    "plan create", "pipeline watch",
]  # fmt: skip
HEAVY = ("numba", "scipy", "matplotlib", "pyspark", "numpy")


def run(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "meshwright", *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    result = call(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: meshwright {command}" in result.stdout
    for option in ("--json", "--seed"):
        assert option in result.stdout


def test_no_two_examples_run_together_in_any_help() -> None:
    helps = dict(helps_below(typer.main.get_command(main.app), "meshwright"))
    assert len(helps) > 30
    for name, text in helps.items():
        examples = [part for part in text.split("\n\n") if "Example" in part]
        assert all(one.startswith("Example: meshwright ") for one in examples), name
        assert all(one.count(" meshwright ") == 1 for one in examples), name


def helps_below(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command, and of all that it has."""
    yield name, cleandoc(command.help or "")
    for word, part in getattr(command, "commands", {}).items():
        yield from helps_below(part, f"{name} {word}")


def test_choices_are_those_of_the_planners() -> None:
    assert sorted(GEOMETRIES_OFFERED) == sorted(KEY_GEOMETRIES)
    assert sorted(get_args(Method)) == sorted(METHODS)


def test_who_stops_a_command_that_has_hardly_begun_sees_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(prog_name: str) -> None:
        raise KeyboardInterrupt(prog_name)

    monkeypatch.setattr(main, "app", interrupt)
    with pytest.raises(SystemExit, match="130"):
        main.run()


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from meshwright.cli.main import app; "
        "assert CliRunner().invoke(app, ['overlay', 'build', '--help']).exit_code == 0; "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_version_is_printed() -> None:
    assert call("--version").stdout == f"meshwright {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("workload", "generate", "--popularity", "zipfy"),
        ("workload", "generate", "--brokers", "many"),
        ("workload", "generate", "--brokers", "1"),
        ("overlay", "arrange", "--delay-weight", "nan"),
        ("overlay", "arrange", "--delay-weight", "-1"),
        ("overlay", "check", "--k", "0"),
        ("overlay", "build", "--colour", "red"),
        ("overlay", "rebuild"),
        ("overlay", "build"),
        ("demos",),
    ],
)
def test_a_misspelt_word_exits_with_2_and_prints_no_answer(words: tuple[str, ...]) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert result.stdout == "" or words == ()
    assert "Traceback" not in result.stderr


def test_the_installed_command_answers_on_stdout_alone(tmp_path: Path) -> None:
    made = run(
        "workload", "generate", "--brokers", 6, "--topics", 3, "--topics-per-broker", 2,
        "--out", "network", cwd=tmp_path,
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    small_tree(tmp_path)
    adapted = run(
        "overlay", "adapt", "--tree", "tree.json", "--traffic", "traffic.csv",
        "--out", "plan.json", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert (adapted.returncode, adapted.stderr) == (0, "")
    assert adapted.stdout.startswith("{\n")


def test_bad_input_from_a_shell_is_one_sentence_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "interests.csv").write_text("broker,topic\nb0,t0\nb0,t0\n")
    drawn = run(
        "overlay", "build", "--design", "gm", "--interests", "interests.csv",
        "--out", "overlay.json", cwd=tmp_path,
    )  # fmt: skip
    assert drawn.returncode == 2
    assert drawn.stdout == ""
    assert drawn.stderr == (
        "error: interests.csv, line 3: broker 'b0' and topic 't0' stand on line 2 already; "
        "remove one of the two rows.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["interests.csv"]


def test_workloads_are_replayable(tmp_path: Path) -> None:
    words = ("workload", "generate", "--brokers", "9", "--topics", "5", "--topics-per-broker", "2")
    contents = []
    for folder, seed in (("one", "3"), ("two", "3"), ("other", "4")):
        document = answered(*words, "--out", tmp_path / folder, "--seed", seed)
        assert document["brokers"] == 9
        contents.append(Path(document["interests"]).read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_topics_that_nobody_drew_are_told(tmp_path: Path) -> None:
    words = ("workload", "generate", "--brokers", "2", "--topics", "5", "--topics-per-broker", "1")
    topics = answered(*words, "--out", tmp_path / "one")["topics"]
    told = " ".join(call(*words, "--out", tmp_path / "two").stdout.split())
    assert f"; {5 - topics} topics that nobody drew left out" in told


def test_a_workload_that_cannot_be_is_refused(tmp_path: Path) -> None:
    words = ("workload", "generate", "--brokers", "9", "--topics", "5", "--topics-per-broker")
    assert "cannot want 6 of 5 topics" in refused(*words, "6", "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    assert "a file is in the way" in refused(*words, "2", "--out", tmp_path / "file")


def test_outputs_that_cannot_be_written_are_refused_before_the_work(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    tree, traffic = small_tree(tmp_path)
    before = sorted(tmp_path.iterdir())
    nowhere = tmp_path / "none" / "out.svg"
    for words in (
        ("overlay", "build", "--design", "gm", "--interests", interests),
        ("overlay", "arrange", "--geometry", "chord", "--method", "hash", "--interests", interests,
         "--rates", rates),
        ("overlay", "adapt", "--tree", tree, "--traffic", traffic),
        ("overlay", "draw", "--overlay", tree),
    ):  # fmt: skip
        assert "its folder does not exist" in refused(*words, "--out", nowhere)
    assert ".svg or .png" in refused("overlay", "draw", "--overlay", tree, "--out", "tree.gif")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--design", "chrod"), ("swarm", "--designs", "tree,chrod"),
        ("plan", "create", "trace", "--design", "chrod", "--out", "plan.json"),
        ("pipeline", "watch", "telemetry", "--design", "chrod", "--out", "plans"),
        ("overlay", "build", "--design", "chrod", "--interests", "i.csv", "--out", "o.json"),
        ("overlay", "compare", "--designs", "chrod", "--interests", "i.csv", "--rates", "r.csv"),
        ("compare", "trace", "--designs", "chrod"), ("torture", "--designs", "chrod"),
        ("up", "--design", "chrod"), ("broker", "--design", "chrod"),
        ("demo", "--design", "chrod"),
    ],
    ids=lambda words: " ".join(words[:2]),
)  # fmt: skip
def test_a_design_that_there_is_not_is_refused_with_all_that_there_are(
    words: tuple[str, ...],
) -> None:
    names = ", ".join(DESIGNS)
    assert refused(*words) == f"error: There is no design 'chrod'; choose one of {names}."


def test_another_choice_that_there_is_not_is_refused_with_those_there_are() -> None:
    result = call(
        "plan", "create", "trace", "--design", "tree", "--objective", "gain", "--out", "p"
    )
    assert result.exit_code == 2
    assert "Invalid value for '--objective': 'gain' is not one of 'net', 'cost'." in result.stderr


def test_the_demonstration_says_where_spark_works_by_itself() -> None:
    shown = " ".join(call("demo", "--help").stdout.split())
    assert "k8s://... [default: (this machine)]" in shown


@pytest.mark.parametrize("command", ["up", "demo"])
def test_help_of_live_brokers_names_every_design_that_they_can_be_joined_as(command: str) -> None:
    shown = " ".join(call(command, "--help").stdout.split()).replace("- ", "-")  # broken names
    assert all(f" {name}" in shown for name in DESIGNS)
