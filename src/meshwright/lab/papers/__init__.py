"""The papers' experiments, a file for each paper, and our own."""
