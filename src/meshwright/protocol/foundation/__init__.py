"""What every machine stands on: a turn, its effects, events and messages."""
