"""Who is interested in what, and who keeps which client, kept by majorities."""
