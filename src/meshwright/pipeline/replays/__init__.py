"""A trace replayed under every design, stage by stage, and the network at a moment of it."""
