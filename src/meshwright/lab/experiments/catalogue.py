"""All experiments by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

from meshwright.errors import OperatorError
from meshwright.lab import papers
from meshwright.lab.experiments.experiment import Experiment


def all_experiments() -> dict[str, Experiment]:
    """Every experiment by its name: those of each module in `lab.papers`, which is a paper's."""
    return {
        experiment.name: experiment
        for module in sorted(found.name for found in iter_modules(papers.__path__))
        for experiment in import_module(f"{papers.__name__}.{module}").EXPERIMENTS
    }


def chosen_experiments(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names; a paper's name stands for all of its own.

    The word all stands for those that need no trace.
    """
    known = all_experiments()
    papers = {experiment.paper for experiment in known.values()}
    wanted: dict[str, Experiment] = {}
    for name in names:
        if name == "all":
            wanted |= {key: one for key, one in known.items() if not one.needs_trace}
        elif name in papers:
            wanted |= {key: one for key, one in known.items() if one.paper == name}
        elif name in known:
            wanted[name] = known[name]
        else:
            raise OperatorError(_unknown(name, [*known, *sorted(papers)]))
    return [one for key, one in known.items() if key in wanted]


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.4)
    advice = f"did you mean {near[0]!r}?" if near else "see meshwright lab list."
    return f"There is no experiment {name!r}; {advice}"
