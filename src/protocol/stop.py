"""Why a run ended: the host's vocabulary, one word for each ending."""

STOP_REASONS = {
    "answer": "the model answered",
    "empty-answer": "the model ended its turn without saying anything",
    "cut-off": "the answer was cut off (finish_reason length)",
    "filtered": "the answer was withheld (content filter or refusal)",
    "round-limit": "the model still wanted tools when the rounds were used up",
    "call-limit": "the tool calls allowed for one run were used up",
    "token-limit": "the tokens allowed for one run were used up",
    "deadline": "the time allowed for one run was used up",
    "unanswered-calls": "the run ended while tool calls were open",
    "awaiting-approval": "a tool call waits for a person",
    "http-error": "the model server answered with an HTTP error",
    "connection-error": "no whole answer came from the model server",
    "bad-reply": "the model server's answer cannot be read",
    "tool-error": "a tool's exception escaped from the loop",
    "crash": "the loop itself raised",
}
