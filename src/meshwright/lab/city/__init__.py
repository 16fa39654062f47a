"""People who move through a city of brokers, and what their moves cost the network."""
