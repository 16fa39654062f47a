"""What brokers report: kept as a trace, cut into windows, measured after a change."""
