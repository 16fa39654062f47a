"""The one table of metrics: the same columns for every design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meshwright.cli.console.screen import plain_table
from meshwright.model.wording import amount

if TYPE_CHECKING:
    from meshwright.cli.console.screen import PlainTable
    from meshwright.lab.comparison import Timed
    from meshwright.model.evaluation import Evaluation
    from meshwright.model.price import Price, PriceWeights
    from meshwright.planning.recommendation import Recommendation, Verdict

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
PRICE_HEADINGS = {
    "\nfits": False,
    "\nprice": True,
    "\nmessages": True,
    "\nrelays": True,
    "\ndelay": True,
    "manage-\nment": True,
    "reconfig-\nuration": True,
    "\nlinks": True,
}
COMPARED_HEADINGS = {
    "\ndesign": False,
    **PRICE_HEADINGS,
    "degree\nmean": True,
    "degree\nmax": True,
    "topic\ndiameter": True,
    "k\nheld": True,
    "delay\nhops": True,
    "load\nspread": True,
    "time\ns": True,
}
PRICE_EXPLANATION = (
    "Price is what a publication costs in messages, the sum of six parts: messages to interested "
    "brokers and on the way in, relays by others, delay in hops, management for what brokers "
    "subscribe to, reconfiguration for changes of overlay and of clients' brokers, and links of "
    "the mean broker; each by its weight, and rounded by itself."
)
EXPLANATION = (
    "Notification overhead is messages for each publication, unwanted relays are all that reach "
    "brokers which do not want them, cost is relays plus weighted delay."
)


def metrics_table(name: str, found: Evaluation) -> PlainTable:
    """The one line of an evaluation."""
    return plain_table(HEADINGS, [metrics_cells(name, found)])


def price_table(name: str, price: Price) -> PlainTable:
    """The price of an overlay that is compared with nothing, and its parts."""
    headings = {"\ndesign": False, **PRICE_HEADINGS}
    del headings["\nfits"]
    return plain_table(headings, [[name, *_shown(price)]])


def price_cells(verdict: Verdict) -> list[str]:
    """The verdict in a word, the price and its parts, as every table shows them."""
    return [verdict.told, *_shown(verdict.parts)]


def _shown(price: Price) -> list[str]:
    """The price, then its parts, as they are written."""
    shown = price.shown()
    return [shown["price"], *(shown[part] for part in price.parts())]


def comparison_table(rows: Sequence[Timed], found: Recommendation) -> PlainTable:
    """One line for each candidate, the best first, with the seconds it took."""
    from meshwright.planning.recommendation import in_order

    lines = []
    for at in in_order(found.verdicts):
        metrics = rows[at].candidate.evaluation
        lines.append(
            [
                found.verdicts[at].name,
                *price_cells(found.verdicts[at]),
                f"{metrics.degree_mean:.1f}",
                f"{metrics.degree_max}",
                f"{metrics.diameter_mean:.1f}",
                f"{metrics.k_held}",
                f"{metrics.delay_hops_mean:.2f}",
                f"{metrics.load_spread:.2f}",
                f"{rows[at].seconds:.2f}",
            ]
        )
    return plain_table(COMPARED_HEADINGS, lines)


def comparison_document(
    rows: Sequence[Timed], found: Recommendation, weights: PriceWeights
) -> dict[str, Any]:
    """The same for a script, with the verdicts."""
    from meshwright.planning.recommendation import in_order

    return {
        "weights": weights,
        "designs": [
            {
                "name": rows[at].candidate.name,
                "evaluation": rows[at].candidate.evaluation,
                "seconds": rows[at].seconds,
                **verdict_document(found.verdicts[at]),
                "sentence": found.verdicts[at].sentence,
            }
            for at in in_order(found.verdicts)
        ],
        "recommended": found.chosen,
        "reason": found.reason,
    }


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """What a script hears of a verdict: the parts add up to the price."""
    return {
        "fits": verdict.fits,
        "is_tie": verdict.is_tie,
        "price": verdict.price,
        "price_parts": verdict.parts,
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
        amount(found.messages_external),
        f"{found.delay_hops_mean:.2f}",
        amount(found.cost),
        f"{found.management_messages_mean:.1f}",
        f"{found.load_spread:.2f}",
    ]
