"""The lab: a page on this machine that shows lanes at work, message by message, while they are."""
