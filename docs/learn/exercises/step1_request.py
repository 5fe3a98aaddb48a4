"""Lesson 1: one request, by hand."""

import json
import sys

import httpx

CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Work out a sum.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string"}},
            "required": ["expression"],
        },
    },
}


def ask(base_url):
    """Send one request, and return the reply."""
    request = {
        "model": "demo-model",
        "messages": [{"role": "user", "content": "What is 18 * (4 + 2)?"}],
        # Exercise: offer the calculator.
    }
    return httpx.post(f"{base_url}/chat/completions", json=request).json()


if __name__ == "__main__":
    json.dump(ask("http://127.0.0.1:8040/v1"), sys.stdout, indent=2)
    sys.stdout.write("\n")
