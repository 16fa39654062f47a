"""Commands that run brokers, ask them, and make their files."""
