"""The manager as a process of its own that answers over HTTP, and who asks it."""
