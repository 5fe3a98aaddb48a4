"""A tool of your own: a function, and the JSON Schema that the model is shown and its calls are checked against."""

from examples.grow.start import model, question, show
from lc.sturdy import build
from lc.sturdy.agent import Agent
from lc.sturdy.model import SturdyChatOpenAI
from toolbox import Tool


def count_words(text: str, longer_than: int = 0) -> int:
    """How many words of the text have more characters than that."""
    return sum(len(word) > longer_than for word in text.split())


COUNT_WORDS = Tool(
    name="count_words",
    description="Count the words of a text.",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "The text."},
            "longer_than": {"type": "integer", "minimum": 0, "description": "Only words with more characters."},
        },
        "required": ["text"],
        "additionalProperties": False,
    },
    function=count_words,
)


def agent(llm: SturdyChatOpenAI) -> Agent:
    """The graph with this tool."""
    return build(llm, [COUNT_WORDS])


if __name__ == "__main__":
    show(agent(model()).invoke(question("How many words has 'the quick brown fox'?")))
