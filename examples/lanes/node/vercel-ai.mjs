// The loop in the Vercel AI SDK: generateText or streamText, which go on for as many steps as they are allowed.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { prompt, settings, tools } from "./host.mjs";

const provider = createOpenAICompatible({ name: "host", baseURL: settings.baseURL, apiKey: settings.apiKey });
const offered = tools.map(({ name, description, parameters, run }) => [
  name,
  tool({ description, inputSchema: jsonSchema(parameters), execute: async (input) => run(input) }),
]);
const task = {
  model: provider(settings.model),
  system: settings.system,
  prompt,
  tools: Object.fromEntries(offered),
  stopWhen: stepCountIs(settings.maxRounds),
  abortSignal: AbortSignal.timeout(settings.timeout),
};

async function streamed() {
  let failure;
  const result = streamText({ ...task, onError: ({ error }) => (failure = error) });
  await result.consumeStream();
  if (failure) throw failure;
  return { text: await result.text, finishReason: await result.finishReason };
}

const { text, finishReason } = settings.stream ? await streamed() : await generateText(task);
console.log(text);
if (finishReason === "tool-calls") console.log("[stop] round-limit");
