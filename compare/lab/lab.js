// The page of the lab: what can be chosen, the three ways to run it, and the events that come.

import {loop} from "./loop.js";
import {calculate, search} from "./tools.js";
import {View, el, visible} from "./view.js";

const $ = id => document.getElementById(id);
const BUTTONS = ["trace", "live", "browser", "own-run"];
const view = new View($("stage"), $("outcome"), $("log-rows"));
const setup = await (await fetch("setup.json")).json();
const endpoint = new URLSearchParams(location.search).get("endpoint");
let following = true; // what arrives is scrolled into view, until the reader scrolls
let running = null; // {source, abort}: the stream of events of the show that goes on, and what stops the page's loop

// What can be chosen.

const scenarios = new Map(setup.scenarios.map(one => [one.name, one]));
const scenario = () => scenarios.get($("scenario").value.trim());
$("prompt").value = setup.prompt;
$("scenarios").append(...setup.scenarios.map(one => Object.assign(el("option", "", one.title), {value: one.name})));
$("scenario").placeholder = `type to search ${setup.scenarios.length} scenarios`;
setup.lanes.forEach((name, number) => {
  const box = Object.assign(document.createElement("input"), {type: "checkbox", value: name, checked: number < 2});
  $("lanes").append(el("label", "", box, ` ${name}`));
});

function choose() {
  const one = scenario();
  $("teaches").textContent = one ? visible(`${one.title}. ${one.teaches}`) : "";
  $("prompt").disabled = Boolean(one);
  if (one) $("prompt").value = one.prompt;
  for (const option of $("mode").options) option.disabled = Boolean(one) && !one.modes.includes(option.value);
  if (one && !one.modes.includes($("mode").value)) $("mode").value = one.modes[0];
}
$("scenario").addEventListener("input", choose);

const here = setup.environment;
$("environment").textContent = here.key ? visible(`(${here.base_url})`) : "(OPENAI_API_KEY is not set)";
$("from-environment").disabled = !here.key;
$(here.key ? "from-environment" : "from-typed").checked = true;
$("live-model").value = here.model;
$("base-url").value = here.base_url;
$("most").value = setup.max_requests;
const source = () => $("from-typed").checked ? "typed" : "environment";
const typed = () => { $("typed").hidden = source() !== "typed"; };
for (const id of ["from-typed", "from-environment"]) $(id).addEventListener("change", typed);
typed();

if (endpoint) {
  $("door").hidden = true;
  $("own").hidden = false;
  $("own-settings").open = true;
  $("own-origin").textContent = visible(new URL(endpoint).origin);
}
$("open-door").addEventListener("click", () => {
  if ($("door-url").value.trim()) location.search = new URLSearchParams({endpoint: $("door-url").value.trim()});
  else $("door-url").focus();
});

// What happens.

const heard = [];
let speaking = null;
/** Say a sentence to who listens: several that come together are said together. */
function say(sentence) {
  if (sentence) heard.push(sentence);
  speaking ??= setTimeout(() => {
    speaking = null;
    $("said").textContent = visible(heard.splice(0).slice(-4).join(" "));
  }, 800);
}

function trouble(text) {
  $("trouble").textContent = visible(text);
}

// The page's own lane hears a reply before the events tell of it; it goes on when both are here, in their order.
const replies = {};
const told = number => replies[number] ??= Promise.withResolvers();

function show(event) {
  say(view.add(event));
  if (event.lane === "browser" && event.kind === "reply") told(event.number).resolve();
  $("log").hidden = !view.count;
  const own = endpoint ? "" : " Nothing was sent to a provider.";
  const words = running?.what === "live" ? "to the servers of the lanes on 127.0.0.1; which of them went on to the endpoint is said above" : `all on this machine.${own}`;
  $("log-summary").textContent = `Request log: ${view.count} request${view.count === 1 ? "" : "s"}, ${running?.what === "own" ? "the browser's own straight to the endpoint" : words}`;
  if (event.kind === "request") $("now").textContent = visible(`${event.lane}: request ${event.number}`);
  if (following && running && event.lane) $("stage").lastElementChild?.scrollIntoView({block: "nearest"});
  if (event.kind === "stopped") trouble("Stopped. Nothing more is asked for.");
  if (event.kind === "fault") trouble(event.text);
}

function busy(what) {
  for (const id of BUTTONS) $(id).disabled = Boolean(what);
  $("bar").hidden = !what;
  $("step").hidden = !(what && what !== "live" && what !== "own" && $("pace").value === "step");
  if (what) trouble("");
  if (what) following = true;
  $("now").textContent = what ? "starting" : "";
  if (what) ($("step").hidden ? $("stop") : $("step")).focus();
}

async function post(path, data) {
  const response = await fetch(path, {method: "POST", body: JSON.stringify(data ?? {}), headers: {"Content-Type": "application/json"}});
  if (!response.ok) throw new Error(await response.text());
  return response;
}

function finished() {
  running?.events?.close();
  const from = running?.from;
  running = null;
  busy("");
  from?.focus({preventScroll: true});
}

async function start(what, from, more) {
  const lanes = [...$("lanes").querySelectorAll("input:checked")].map(box => box.value);
  const wanted = {what, lanes, prompt: $("prompt").value, scenario: what === "live" ? "" : scenario()?.name ?? "", mode: $("mode").value, pace: $("pace").value, ...more};
  running = {what, from, abort: new AbortController()};
  busy(what);
  try {
    const {show: number, task} = await (await post("start", wanted)).json();
    view.clear(what === "browser" ? [...lanes, "browser"] : lanes);
    running.events = new EventSource(`events/${number}`);
    running.events.addEventListener("message", message => show(JSON.parse(message.data)));
    running.events.addEventListener("over", finished);
    running.events.addEventListener("error", () => { trouble("The lab does not answer any more: is it still running?"); finished(); });
    return task;
  } catch (error) {
    trouble(error.message);
    finished();
    return null;
  }
}

// The three ways, and a fourth.

$("trace").addEventListener("click", () => start("trace", $("trace")));

$("live").addEventListener("click", async () => {
  $("live-settings").open = true;
  const live = {source: source(), model: $("live-model").value.trim(), max_requests: $("most").valueAsNumber};
  if (live.source === "typed") Object.assign(live, {base_url: $("base-url").value, key: $("key").value});
  $("key").value = "";
  await start("live", $("live"), live);
});

$("browser").addEventListener("click", async () => {
  const task = await start("browser", $("browser"));
  if (!task) return;
  const {signal} = running.abort;
  for (const number in replies) delete replies[number];
  let number = 0;
  try {
    await browse(task, async request => {
      number++;
      const response = await fetch("v1/chat/completions", {method: "POST", signal, body: JSON.stringify(request), headers: {"Content-Type": "application/json"}});
      if (!response.ok) throw new Error(`HTTP ${response.status}: ${(await response.text()).slice(0, 300)}`);
      const reply = await response.json();
      await told(number).promise;
      return reply;
    });
  } catch (error) {
    if (error.name !== "AbortError") trouble(`The browser loop ended: ${error.message}`);
  }
  await post("ended").catch(() => null);
});

$("own-run").addEventListener("click", async () => {
  const [key, model] = [$("own-key").value, $("own-model").value.trim()];
  $("own-key").value = "";
  if (!key || !model) return trouble("Name a model and type a key first.");
  running = {what: "own", from: $("own-run"), abort: new AbortController()};
  busy("own");
  view.renew("browser");
  let stop = "";
  try {
    stop = (await browse({prompt: $("prompt").value, model, max_rounds: 8}, asking(key, running.abort.signal))).stop;
  } catch (error) {
    stop = error.name === "AbortError" ? "stopped" : error.stop ?? "connection-error";
    if (error.name === "TypeError") trouble("The browser got no answer that it may read. The server is not there, or its answer does not allow this page (CORS): the developer tools say which.");
    else if (stop !== "stopped") trouble(error.message);
  }
  show({kind: "ended", lane: "browser", observed: stop, claimed: stop, raised: null});
  finished();
});

/** The page's own loop, its tools in the browser, each use of one shown. */
function browse({prompt, system, model, max_rounds: rounds}, ask) {
  let number = 0;
  const counted = request => { number++; return ask(request); };
  const run = {calculator: ({expression}) => calculate(expression), search_docs: ({query}) => search(setup.documents, query)};
  const ran = use => show({kind: "tool", lane: "browser", number, ...use});
  return loop({prompt, system, model, rounds, tools: setup.tools, run, ask: counted, ran});
}

/** Asks the reader's own endpoint directly; what goes and comes is shown, but not the key. */
function asking(key, signal) {
  const address = `${endpoint.replace(/\/+$/, "")}/chat/completions`, began = performance.now();
  const size = text => new TextEncoder().encode(text).length;
  const {host, pathname} = new URL(address);
  let number = 0, before = 0;
  const common = kind => ({kind, lane: "browser", number, at: (performance.now() - began) / 1000});
  return async request => {
    number++;
    const body = JSON.stringify(request);
    show({...common("request"), method: "POST", target: pathname, to: host, headers: [["Authorization", "***"], ["Content-Type", "application/json"]], body, size: size(body), repeated: before, new: request.messages.slice(before), tools: request.tools.length});
    before = request.messages.length;
    const response = await fetch(address, {method: "POST", signal, body, credentials: "omit", referrerPolicy: "no-referrer", redirect: "error", headers: {"Authorization": `Bearer ${key}`, "Content-Type": "application/json"}});
    const text = await response.text();
    let reply = null;
    try { reply = JSON.parse(text); } catch { reply = null; }
    const choice = response.ok ? reply?.choices?.[0] : null;
    show({...common("reply"), status: response.status, headers: [...response.headers], body: text, size: size(text), streamed: false, message: choice?.message ?? null, finish_reason: choice?.finish_reason, problem: choice?.message ? "" : `HTTP ${response.status}`});
    if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), {stop: "http-error"});
    return reply ?? {};
  };
}

// The way through a run.

$("step").addEventListener("click", () => post("step"));
$("stop").addEventListener("click", () => {
  running?.abort.abort();
  if (running?.what !== "own") post("stop");
});
for (const kind of ["wheel", "touchmove"]) addEventListener(kind, () => { following = false; }, {passive: true});
addEventListener("keydown", event => {
  if (event.key === "Escape" && running) $("stop").click();
  if (/^(Page|Arrow|Home|End)/.test(event.key)) following = false;
});
document.documentElement.classList.add("ready");
