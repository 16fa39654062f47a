"""What a live broker tells of itself: a trace, metrics, a log."""
