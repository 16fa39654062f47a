"""What people who look are shown: figures, overlay, topics, clients and reports."""
