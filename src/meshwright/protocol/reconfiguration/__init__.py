"""Changes the network's overlay: by epochs, or by the DYNATOPS paper's blocking protocol."""
