"""Which scenario shows the fault of each miniature, and by which findings."""

Fault = tuple[str, str, tuple[str, ...]]
"""The scenario, the finding that is the fault, and those that the fault implies, all of them."""

ASSISTANT, CALL_1, CALL_2 = "messages[1]", "messages[1].tool_calls[0]", "messages[1].tool_calls[1]"
ARGUMENTS = f"{CALL_1}.function.arguments"
REFUSED = "would-be-refused {} openai:every-call-answered"
ORPHAN = "would-be-refused {} openai:no-orphan-result"
OTHER_STOP = "stop-reason stop"

FAULTS: dict[str, Fault] = {
    "drops_reasoning": ("reasoning-content-lost", f"lost-field {ASSISTANT}.reasoning_content", ()),
    "renames_reasoning": ("reasoning-content-lost", f"renamed-parameter {ASSISTANT}.reasoning_content", ()),
    "adds_a_field": ("one-call", f"added-field {ASSISTANT}.name", ()),
    "drops_a_call": ("two-calls-in-one-turn", f"dropped-call {CALL_2}", (f"unanswered-call {CALL_2}",)),
    "forgets_the_message": (
        "one-call",
        f"lost-field {ASSISTANT}",
        (f"dropped-call {CALL_1}", f"unanswered-call {CALL_1}"),
    ),
    "changes_an_id": ("one-call", f"changed-value {CALL_1}.id", ()),
    "reserialises_arguments": ("arguments-compact", f"re-serialised {ARGUMENTS}", ()),
    "rounds_numbers": ("arguments-number-with-zero", f"changed-value {ARGUMENTS}", ()),
    "swaps_ids": (
        "two-calls-in-one-turn",
        "swapped-results messages[2].content",
        ("swapped-results messages[3].content",),
    ),
    "answers_twice": ("one-call", f"answered-twice {CALL_1}", (REFUSED.format(CALL_1),)),
    "forgets_a_call": ("two-calls-in-one-turn", f"unanswered-call {CALL_2}", (REFUSED.format(CALL_2),)),
    "answers_in_reverse": ("two-calls-in-one-turn", "reordered messages[2]", ()),
    "reorders_calls": ("three-tools-in-one-turn", f"reordered {ASSISTANT}.tool_calls", ()),
    "invents_a_result": ("one-call", "orphan-result messages[3]", (ORPHAN.format("messages[3]"),)),
    "adds_a_message": ("one-call", "added-field messages[3]", ()),
    "talks_before_answering": (
        "one-call",
        "added-field messages[2]",
        (REFUSED.format(CALL_1), ORPHAN.format("messages[3]")),
    ),
    "marks_its_results": ("one-call", "added-field messages[2].status", ()),
    "loses_the_first_call_when_broken": (
        "one-broken-one-good-call",
        f"unanswered-call {CALL_1}",
        (REFUSED.format(CALL_1),),
    ),
    "executes_cut_off_call": ("finish-length-with-whole-calls", f"executed-despite-cut-off {CALL_1}", ()),
    "executes_twice": ("one-call", f"executed-n-times {CALL_1}", ()),
    "claims_success": ("division-by-zero", "claim-differs messages[2].content", ()),
    "claims_failure": ("one-call", "changed-value messages[2].content", ()),
    "makes_up_a_result": ("one-call", "claim-differs messages[2].content", ()),
    "cuts_a_result_short": ("one-call", "changed-value messages[2].content", ()),
    "coerces_arguments": ("arguments-wrong-type", f"changed-value executed {CALL_1}.arguments.expression", ()),
    "leaves_out_an_argument": ("arguments-extra-field", f"lost-field executed {CALL_1}.arguments.precision", ()),
    "words_errors_otherwise": ("division-by-zero", "error-wording messages[2].content", ()),
    "lets_the_tool_raise": (
        "division-by-zero",
        OTHER_STOP,
        (f"unanswered-call {CALL_1}", "unused-reply reply 2"),
    ),
    "raises_after_the_tool_ran": ("one-call", OTHER_STOP, (f"unanswered-call {CALL_1}", "unused-reply reply 2")),
    "changes_the_prompt": ("one-call", "changed-value messages[0].content", ()),
    "adds_instructions": ("one-call", "added-field messages[1]", ()),
    "forgets_the_system_text": ("system-prompt", "lost-field messages[0]", ()),
    "shortens_the_history": ("list-then-read", "changed-value messages[2].content", ()),
    "forgets_the_beginning": ("list-then-read", "lost-field messages[0]", ()),
    "asks_another_model": ("one-call", "changed-value model", ()),
    "renames_the_model": (
        "one-call",
        "renamed-parameter model",
        ("would-be-refused model openai:request-shape",),
    ),
    "adds_a_temperature": ("one-call", "added-field temperature", ()),
    "leaves_out_the_tools": ("one-call", "lost-field tools", ()),
    "leaves_out_a_description": ("one-call", "lost-field tools", ()),
    "retries_silently": ("server-500-then-fine", "extra-attempt request 2", (OTHER_STOP,)),
    "goes_elsewhere": ("one-call", "other-endpoint GET /v1/usage", ()),
    "sends_what_cannot_be_read": (
        "answer-without-tools",
        "would-be-refused request 1",
        ("unused-reply reply 1", OTHER_STOP),
    ),
    "runs_a_tool_unasked": ("one-call", "executed-n-times before the first request", ()),
    "stops_early": ("one-call", "unused-reply reply 2", (f"unanswered-call {CALL_1}", OTHER_STOP)),
    "asks_again": ("one-call", "beyond-script request 3", ("claim-differs stop", OTHER_STOP)),
    "claims_an_answer": ("one-round-only", "claim-differs stop", ()),
    "tells_another_story": ("one-call", "claim-differs messages[3]", ()),
    "tells_more_than_happened": ("one-call", "claim-differs messages[4]", ()),
    "leaves_out_the_end": ("one-call", "claim-differs messages[3]", ()),
}
"""Those that show in every mode of their scenario."""

STREAM_FAULTS: dict[str, Fault] = {
    "decodes_each_piece": (
        "character-cut-in-two",
        f"changed-value {ARGUMENTS}",
        (f"changed-value executed {CALL_1}.arguments.query",),
    ),
    "ends_lines_where_python_does": (
        "line-separators-in-a-text",
        "claim-differs stop",
        (f"claim-differs {ASSISTANT}",),
    ),
    "loses_the_last_chunk": (
        "last-event-without-blank-line",
        f"claim-differs {ASSISTANT}",
        ("claim-differs stop",),
    ),
    "stops_at_the_finish_reason": (
        "call-behind-the-finish-reason",
        f"unanswered-call {CALL_1}",
        ("unused-reply reply 2", "claim-differs stop", f"claim-differs {ASSISTANT}", OTHER_STOP),
    ),
    "passes_over_an_error": (
        "error-in-a-stream",
        "executed-n-times behind request 1",
        (f"added-field {ASSISTANT}", "added-field messages[2]", "beyond-script request 2", OTHER_STOP),
    ),
    "doubles_names": ("name-repeated-in-each-delta", f"changed-value {CALL_1}.function.name", ()),
    "trusts_the_index": (
        "index-zero-for-all-calls",
        f"dropped-call {CALL_2}",
        (f"changed-value {ARGUMENTS}", f"unanswered-call {CALL_2}"),
    ),
    "opens_a_call_per_delta": (
        "index-starts-at-one",
        f"added-field {CALL_2}",
        (
            f"changed-value {ARGUMENTS}",
            "orphan-result messages[3]",
        ),
    ),
    "goes_on_with_the_last_call": (
        "calls-interleaved",
        f"changed-value {ARGUMENTS}",
        (f"changed-value {CALL_2}.function.arguments",),
    ),
    "keeps_calls_as_they_come": (
        "index-descending",
        f"reordered {ASSISTANT}.tool_calls",
        ("reordered messages[2]",),
    ),
    "drops_reasoning_deltas": (
        "reasoning-in-fragments",
        f"lost-field {ASSISTANT}.reasoning_content",
        (f"would-be-refused {ASSISTANT}.reasoning_content deepseek-thinking:reasoning-comes-back",),
    ),
    "keeps_the_last_reasoning_delta": (
        "reasoning-in-fragments",
        f"changed-value {ASSISTANT}.reasoning_content",
        (),
    ),
    "executes_cut_off_stream": ("stream-ends-between-two-calls", f"executed-despite-cut-off {CALL_1}", ()),
    "completes_cut_off_arguments": (
        "arguments-cut-off-unlabelled",
        f"changed-value executed {CALL_1}.arguments",
        (),
    ),
    "takes_the_end_of_a_stream_for_done": ("stream-ends-in-an-answer", "claim-differs stop", ()),
    "takes_a_cut_message_for_whole": (
        "connection-cut-in-an-answer",
        "claim-differs stop",
        (f"claim-differs {ASSISTANT}",),
    ),
    "calls_a_stall_an_answer": ("stream-drips", "claim-differs stop", (f"claim-differs {ASSISTANT}",)),
    "ignores_the_deadline": ("stream-drips", OTHER_STOP, ()),
}
"""Those that show in a stream only."""
