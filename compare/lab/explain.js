// What can be asked about a step, and the answers: short ones, each for the message at hand.

const say = {
  whole: ["Why does the request hold everything again?", "A model server remembers nothing between requests. The host sends the whole conversation each time, and so decides what the model sees of its own past."],
  tools: ["What are the tools in it?", "Their names, descriptions and parameters as a JSON Schema. The model can only ask for them; the host decides whether anything runs."],
  content: ["Why is content null here?", "The model only makes calls in this message, and says nothing. Null means exactly that. Some hosts make it an empty text, or leave the key out, and some servers refuse one or the other."],
  id: ["What does this id do?", "It names one call. The result must carry the same id as tool_call_id: that alone ties the two together, not the name and not the order."],
  text: ["Why are the arguments a text?", "The model writes them letter by letter. They are JSON inside a string, may be broken or cut off, and are read only by the host. Sent back with other spacing they mean the same, but a prefix cache no longer recognises them."],
  several: ["What if there are several calls?", "Each gets exactly one tool message, before the model speaks again. A call without one makes most providers refuse the next request."],
  back: ["Why does the model's own message go back?", "Because the results behind it answer its calls. Without it they would answer nothing, and the request would be refused."],
  result: ["What is the tool message?", "The result of one call, as text, under the call's id. A failure is a result, too: the model is told, and can try again."],
  reason: ["What does finish_reason say?", "Why the model stopped writing: tool_calls (it waits for results), stop (it is done), length (it was cut off), content_filter. Some servers mix up the first two, so the calls themselves decide."],
  answer: ["Why does the loop end here?", "There are no calls in this message, so there is nothing to run and nothing to send. That is the only sign that a loop has."],
  cut: ["Why is nothing executed?", "The reply was cut off at the token limit. Half of a call may look like a whole one, with other arguments than were meant."],
  stream: ["Where do the pieces go?", "The reply came as a stream: small pieces of text and of calls, which the host puts together. The whole message, as it must be read, is shown; the pieces are in the raw view."],
  trouble: ["What can a host do with that?", "There is no message of a model in it. The loop can try again or end, and it has to say which: the user sees no answer in either case."],
};

const calls = message => Array.isArray(message?.tool_calls) ? message.tool_calls : [];

/** The questions that one event raises, with their answers. */
export function questions(event) {
  if (event.kind === "request") {
    const roles = event.new.map(message => message?.role);
    return [
      event.repeated ? say.whole : event.tools ? say.tools : null,
      roles.includes("assistant") ? say.back : null,
      roles.includes("tool") ? say.result : null,
    ].filter(Boolean);
  }
  const message = event.message, made = calls(message);
  if (!message) return [say.trouble];
  return [
    made.length && message.content === null ? say.content : null,
    made.length ? say.id : null,
    made.length ? say.text : null,
    made.length > 1 ? say.several : null,
    made.length && event.finish_reason === "length" ? say.cut : null,
    made.length ? null : say.answer,
    say.reason,
    event.streamed ? say.stream : null,
  ].filter(Boolean);
}
