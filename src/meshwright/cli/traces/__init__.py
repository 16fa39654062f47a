"""Commands that make traces, replay them, and plan from them."""
