"""Who wants this message: topic filters, content clauses, covering and a matching index."""
