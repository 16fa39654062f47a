"""What happens in a run, drawn from its seed: who is there, traffic, faults, plans."""
