// What a lane of Diptych gets, and the tools that this program offers under the names of the catalogue's.
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { resolve, sep } from "node:path";

const env = process.env;
export const prompt = readFileSync(0, "utf8");
export const settings = {
  baseURL: env.OPENAI_BASE_URL,
  apiKey: env.OPENAI_API_KEY,
  model: env.OPENAI_MODEL,
  system: env.DIPTYCH_SYSTEM,
  stream: env.DIPTYCH_STREAM === "1",
  maxRounds: Number(env.DIPTYCH_MAX_ROUNDS ?? 8),
  timeout: 1000 * Number(env.DIPTYCH_TIMEOUT ?? 60),
};
const root = realpathSync(env.DIPTYCH_ROOT ?? ".");

function inside(path) {
  const real = realpathSync(resolve(root, path));
  if (real !== root && !real.startsWith(root + sep)) throw new Error(`${path} is outside of the folder`);
  return real;
}

function calculate({ expression }) {
  if (!/^[-+*/%().\d\s]+$/.test(expression)) throw new Error("only numbers, + - * / % ** and brackets");
  const value = Function(`"use strict"; return (${expression});`)(); // it holds no name that could be called
  if (!Number.isFinite(value)) throw new Error("division by zero");
  return value;
}

function parameters(name, description) {
  return {
    type: "object",
    properties: { [name]: { type: "string", description } },
    required: [name],
    additionalProperties: false,
  };
}

export const tools = [
  {
    name: "calculator",
    description: "Work out an arithmetic expression.",
    parameters: parameters("expression", "The expression, for example (17 * 23) + 9."),
    run: calculate,
  },
  {
    name: "read_text_file",
    description: "Read a text file.",
    parameters: parameters("path", "The file, relative to the folder."),
    run: ({ path }) => readFileSync(inside(path), "utf8"),
  },
  {
    name: "list_directory",
    description: "List a directory.",
    parameters: parameters("path", "The directory, relative to the folder."),
    run: ({ path }) => readdirSync(inside(path)).sort(),
  },
];
