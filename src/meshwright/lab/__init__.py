"""QUESTIONS AND ANSWERS: workloads, experiments, metrics and figures."""
