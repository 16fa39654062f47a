"""TREES THAT ADAPT, AS EXPERIMENTS SEE THEM: drawn demand, planned and simulated [OCBR]."""
