"""Change of overlay by epochs, and the DYNATOPS paper's blocking protocol beside it."""
