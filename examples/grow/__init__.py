"""Programs that grow the graph of `lc.sturdy` by one thing each; docs/grow.md walks through them."""
