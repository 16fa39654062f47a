"""How sentences for people count things, and name amounts."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: 1 session, 2 sessions."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def amount(value: float) -> str:
    """In full from a hundred on, as fractions say nothing there; else with six digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.6g}"


def cost_change(before: float, after: float, price: float, net_benefit: float) -> str:
    """What a change does to the cost, what it takes, and whether that pays."""
    share = f" ({(before - after) / before:.1%} less)" if after < before else ""
    verdict = (
        f"the net benefit is {amount(net_benefit)}"
        if net_benefit > 0.0
        else f"it does not pay within the horizon: {amount(-net_benefit)} more than it saves"
    )
    return (
        f"the cost goes from {amount(before)} to {amount(after)}{share}; "
        f"the change takes {amount(price)} messages, so {verdict}"
    )
