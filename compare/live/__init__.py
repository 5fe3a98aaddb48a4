"""The lanes against a live endpoint: one reply for all of them while their requests mean the same."""
