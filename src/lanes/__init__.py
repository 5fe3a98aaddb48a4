"""The same loop in other frameworks, each a lane by its module: `lanes.openai_sdk`, `lanes.pydantic_ai` and so on.

Each is as its framework's own introduction has it, with the framework's defaults, and needs that framework installed.
"""
