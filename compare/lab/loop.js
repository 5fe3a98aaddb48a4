// The tool-calling loop in a page: send all messages, run the tools that were asked for, send all messages again.

/**
 * Answers the prompt with the model behind `ask`, a function from a request to its parsed reply.
 *
 * `tools` are the entries of the request, `run` maps a tool's name to its function, and `ran` is told of each use.
 * Returns all messages and why the loop ended. Throws what `ask` throws.
 */
export async function loop({prompt, system, model, rounds, tools, run, ask, ran}) {
  const messages = [...(system ? [{role: "system", content: system}] : []), {role: "user", content: prompt}];
  for (let round = 0; round < rounds; round++) {
    const reply = await ask({model, messages, tools});
    const choice = reply.choices?.[0];
    if (!choice?.message) return {messages, stop: "bad-reply"};
    // The assistant message goes back before its results, with every field that it came with.
    messages.push(choice.message);
    const calls = choice.message.tool_calls ?? [];
    if (!calls.length) return {messages, stop: ending(choice)};
    // Every call gets exactly one tool message, carrying that call's id, before the model speaks again.
    for (const call of calls) {
      const content = observe(run, call, choice.finish_reason, ran);
      messages.push({role: "tool", tool_call_id: call.id, content});
    }
  }
  return {messages, stop: "round-limit"};
}

/** What came of one call, as JSON text: every failure is told to the model, none ends the loop. */
function observe(run, call, finishReason, ran) {
  const {name, arguments: written} = call.function ?? {};
  let result, error = null;
  try {
    if (finishReason === "length") throw new Error("the turn was cut off, so nothing was executed");
    if (!Object.hasOwn(run, name)) throw new Error(`no tool is named ${name}`);
    result = run[name](JSON.parse(written || "{}"));
  } catch (caught) {
    error = String(caught.message);
  }
  ran({name, arguments: written, result, error});
  return JSON.stringify(error === null ? {ok: true, result} : {ok: false, error});
}

/** Why a run ends with this choice: a cut or withheld text is no answer. */
function ending({message, finish_reason: reason}) {
  if (reason === "content_filter" || message.refusal) return "filtered";
  if (reason === "length") return "cut-off";
  return message.content ? "answer" : "empty-answer";
}
