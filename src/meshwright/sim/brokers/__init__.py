"""What runs the core of one broker here, and what is kept of what it reports."""
