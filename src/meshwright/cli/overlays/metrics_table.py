"""The one table of metrics: the same columns for every design."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from meshwright.cli.console.screen import plain_table

if TYPE_CHECKING:
    from meshwright.cli.console.screen import PlainTable
    from meshwright.lab.comparison import Timed
    from meshwright.model.evaluation import Evaluation
    from meshwright.planning.recommendation import Recommendation

HEADINGS = {
    "\ndesign": False,
    "\ndegree": True,
    "degree\nmax": True,
    "topic\ndiameter": True,
    "k\nheld": True,
    "notification\noverhead": True,
    "unwanted\nrelays": True,
    "delay\nhops": True,
    "\ncost": True,
    "to\nsubscribe": True,
    "load\nspread": True,
}
TIME_HEADING = "time\ns"
EXPLANATION = (
    "Notification overhead is messages for each publication, unwanted relays are all that reach "
    "brokers which do not want them, cost is relays plus weighted delay."
)


def metrics_table(name: str, found: Evaluation) -> PlainTable:
    """The one line of an evaluation."""
    return plain_table(HEADINGS, [metrics_cells(name, found)])


def comparison_table(rows: Iterable[Timed]) -> PlainTable:
    """One line for each candidate, with the seconds it took."""
    return plain_table(
        HEADINGS | {TIME_HEADING: True},
        (
            [*metrics_cells(row.candidate.name, row.candidate.evaluation), f"{row.seconds:.2f}"]
            for row in rows
        ),
    )


def comparison_document(rows: Iterable[Timed], found: Recommendation) -> dict[str, Any]:
    """The same for a script, with the verdicts."""
    return {
        "designs": [
            {
                "name": row.candidate.name,
                "evaluation": row.candidate.evaluation,
                "seconds": row.seconds,
                "fits": verdict.fits,
                "price": verdict.price,
                "sentence": verdict.sentence,
            }
            for row, verdict in zip(rows, found.verdicts, strict=True)
        ],
        "recommended": found.chosen,
        "reason": found.reason,
    }


def metrics_cells(name: str, found: Evaluation) -> list[str]:
    """The cells of one line, in the order of the headings."""
    return [
        name,
        f"{found.degree_mean:.1f}",
        f"{found.degree_max}",
        f"{found.diameter_mean:.1f}",
        f"{found.k_held}",
        f"{found.messages_per_publication:.1f}",
        f"{found.messages_external:,.0f}",
        f"{found.delay_hops_mean:.2f}",
        f"{found.cost:,.0f}",
        f"{found.management_messages_mean:.1f}",
        f"{found.load_spread:.2f}",
    ]
