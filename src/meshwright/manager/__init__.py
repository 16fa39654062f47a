"""WHAT CHANGES A RUNNING NETWORK: plans are given to brokers, followed to their end and judged."""
