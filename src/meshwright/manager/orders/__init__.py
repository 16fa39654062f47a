"""Plans that are kept, and the orders by which brokers carry them out."""
