// The loop in LangChain.js: createAgent, the graph of a model and its tools.
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { prompt, settings, tools } from "./host.mjs";

const model = new ChatOpenAI({
  model: settings.model,
  apiKey: settings.apiKey,
  configuration: { baseURL: settings.baseURL },
  timeout: settings.timeout,
});
const offered = tools.map(({ name, description, parameters, run }) =>
  tool(async (input) => run(input), { name, description, schema: parameters }),
);
const agent = createAgent({ model, tools: offered, systemPrompt: settings.system });

// Who wants the messages piece by piece makes the graph ask the model for streams. (The model's own `streaming: true`
// does, too, but then counts tokens by a table that it fetches from the network.)
const streamMode = settings.stream ? ["messages", "values"] : ["values"];
// Each request and each round of tools is one step; the step after the last allowed one throws.
const limits = { recursionLimit: 2 * settings.maxRounds };
let last;
try {
  const input = { messages: [{ role: "user", content: prompt }] };
  for await (const [mode, state] of await agent.stream(input, { streamMode, ...limits })) {
    if (mode === "values") last = state.messages.at(-1);
  }
  console.log(last.text);
} catch (error) {
  if (error.name !== "GraphRecursionError") throw error;
  console.log("[stop] round-limit");
}
