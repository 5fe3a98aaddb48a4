"""What a run sent, got and did, written down as it happens, read back, replayed and exported."""
