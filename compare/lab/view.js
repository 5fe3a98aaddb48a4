// How the events of a show become a page. Everything that a model, a tool or a header said is text, and nothing else.

import {questions} from "./explain.js";

const LONG = 600, COLOURS = 6, DIGITS = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳";
const VERDICTS = {same: "=", equivalent: "≈", different: "≠"};
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Co}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f]|\p{M}{5,}/gu;

const named = sign => sign < " " ? String.fromCodePoint(0x2400 + sign.codePointAt(0)) :
  [...sign].map(one => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`).join("");

/** A text in which what acts or hides is named. */
export const visible = text => String(text).replace(HIDDEN, named);

/** An element with a class, and children that are elements or texts. */
export function el(tag, name, ...children) {
  const [element, ...classes] = [document.createElement(tag), ...(name ? name.split(" ") : [])];
  element.classList.add(...classes);
  for (const child of children.flat()) {
    if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== "") element.append(document.createTextNode(visible(child)));
  }
  return element;
}

const headed = (scope, text) => Object.assign(el("th", "", text), {scope});
const plural = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
const json = value => value === undefined ? "" : JSON.stringify(value);
const shown = value => typeof value === "string" ? value : json(value);
const bytes = body => typeof body === "string" ? body : `base64: ${body?.base64 ?? ""}`;

/** A details element whose content is made when it is opened first: a long text costs nothing before. */
export function folded(summary, make, name = "") {
  const box = el("details", name, el("summary", "", summary));
  box.addEventListener("toggle", () => box.childElementCount === 1 && box.append(make()), {once: true});
  return box;
}

/** A text; of a long one the beginning, and the rest to be unfolded. */
function words(text, name = "") {
  if (text.length <= LONG) return el("span", name, text);
  return el("span", name, text.slice(0, LONG), "… ", folded(`all ${text.length.toLocaleString("en")} characters`, () => el("span", "", text.slice(LONG))));
}

/** The page's part that shows lanes: rounds from top to bottom, lanes side by side. */
export class View {
  constructor(stage, outcome, log) {
    Object.assign(this, {stage, outcome, log});
    this.clear([]);
  }

  /** Begin anew with these lanes; those named in `kept` keep what they have. */
  clear(lanes) {
    this.lanes = new Map(lanes.map(lane => [lane, {signs: new Map(), rounds: new Map(), last: null, told: null, findings: new Set(), log: new Map()}]));
    this.rows = new Map();
    this.count = 0;
    this.stage.replaceChildren();
    this.outcome.replaceChildren();
    this.log.replaceChildren();
    this.columns();
  }

  /** Put one lane, anew, beside those that are there. */
  renew(name) {
    for (const row of this.rows.values()) row.cells.get(name)?.replaceChildren();
    this.lanes.delete(name);
    this.lane(name);
    this.outcome.replaceChildren();
  }

  columns() {
    this.stage.dataset.lanes = this.lanes.size;
  }

  lane(name) {
    if (!this.lanes.has(name)) {
      this.lanes.set(name, {signs: new Map(), rounds: new Map(), last: null, told: null, findings: new Set(), log: new Map()});
      for (const [number, row] of this.rows) if (!row.cells.has(name)) this.cell(row, name, number);
      this.columns();
    }
    return this.lanes.get(name);
  }

  /** The card of a lane in a round. */
  place(name, number) {
    this.lane(name);
    if (!this.rows.has(number)) {
      const verdict = el("span", "verdict"), grid = el("div", "grid");
      const section = el("section", "round", el("h2", "", `Round ${number}`, verdict), grid);
      const row = {grid, verdict, cells: new Map()};
      this.rows.set(number, row);
      for (const lane of this.lanes.keys()) this.cell(row, lane, number);
      this.stage.append(section);
    }
    const cell = this.rows.get(number).cells.get(name);
    if (!cell.childElementCount) cell.append(el("h3", "", name));
    return cell;
  }

  cell(row, lane, number) {
    const cell = el("article", "cell");
    cell.setAttribute("aria-label", `${visible(lane)}, round ${number}`);
    row.cells.set(lane, cell);
    row.grid.append(cell);
  }

  /** The sign of a call's id in a lane, with its colour. */
  chip(lane, id) {
    const signs = this.lane(lane).signs, key = json(id ?? null);
    if (!signs.has(key)) signs.set(key, signs.size);
    const number = signs.get(key);
    const sign = el("i", `chip c${number % COLOURS + 1}`, DIGITS[number] ?? `(${number + 1})`);
    sign.title = visible(`id ${shown(id ?? null)}`);
    return sign;
  }

  /** Show one event; returns a sentence on it for who listens, or nothing. */
  add(event) {
    const handler = this[`on_${event.kind}`];
    return handler ? handler.call(this, event) : "";
  }

  on_lane({lane, ...more}) {
    Object.assign(this.lane(lane), more);
  }

  on_request(event) {
    const {lane, number} = event, state = this.lane(lane);
    const meta = [event.repeated ? `${plural(event.repeated, "message")} again, ${event.new.length} new` : plural(event.new.length, "message"), event.tools ? plural(event.tools, "tool") : ""];
    const block = this.block("sent", "→", "request", meta.filter(Boolean).join(" · "), event);
    for (const message of event.new) block.append(this.message(lane, message, state.last));
    block.append(this.raw(event, `${event.method} ${event.target}`));
    this.place(lane, number).append(block);
    this.logged(event, state);
  }

  on_reply(event) {
    const {lane, number} = event, state = this.lane(lane);
    const meta = [`HTTP ${event.status || "none"}`, event.finish_reason === null || event.finish_reason === undefined ? "" : `finish_reason ${shown(event.finish_reason)}`, event.streamed ? "stream" : ""];
    const block = this.block("came", "←", "reply", meta.filter(Boolean).join(" · "), event);
    if (event.message) block.append(this.message(lane, event.message, null));
    else block.append(el("p", "problem", event.problem || "no message"));
    for (const rule of event.deviations ?? []) block.append(el("p", "soft", `read by the rule ${rule}`));
    block.append(this.raw(event, `HTTP ${event.status || "none"}`));
    this.place(lane, number).append(block);
    state.last = event.message;
    const row = state.log.get(number);
    if (row) row.lastChild.textContent = visible(event.status ? `HTTP ${event.status}, ${plural(event.size, "byte")}` : "none");
    const made = this.calls(event.message).map(call => shown(call?.function?.name ?? "nothing"));
    return `${lane}, round ${number}: ${made.length ? `the model calls ${made.join(" and ")}` : event.message ? "the model answers" : "no message of a model"}.`;
  }

  on_tool(event) {
    const cell = this.place(event.lane, event.number);
    let list = cell.querySelector(".ran ul");
    if (!list) {
      list = el("ul");
      cell.append(el("div", "block ran", el("h4", "", el("b", "", "⚙ "), "ran here"), list));
    }
    const made = this.calls(this.lane(event.lane).last);
    const call = made.find(one => one?.function?.name === event.name && !list.querySelector(`[data-call="${made.indexOf(one)}"]`));
    const item = el("li", "", call ? this.chip(event.lane, call.id) : null, el("code", "", event.name), " → ",
      event.error === null ? words(shown(event.result), "value") : words(event.error, "problem"));
    if (call) item.dataset.call = made.indexOf(call);
    list.append(item);
  }

  on_finding({lane, number, finding}, late = false) {
    const state = this.lane(lane), key = `${number} ${finding.key}`;
    if (state.findings.has(key)) return;
    state.findings.add(key);
    const cell = this.place(lane, number);
    const mark = finding.severity === "info" ? "i" : "△";
    const title = el("span", "", el("b", "", `${mark} ${finding.severity} `), el("code", "", finding.class), " ", el("code", "soft", finding.path));
    const box = folded(title, () => el("div", "", el("p", "", finding.consequence), finding.note ? el("p", "", finding.note) : null,
      finding.expected === null && finding.found === null ? null : el("dl", "", el("dt", "", "expected"), el("dd", "", words(shown(finding.expected ?? null))), el("dt", "", "found"), el("dd", "", words(shown(finding.found ?? null))))),
      `finding ${["info", "notice", "serious"].includes(finding.severity) ? finding.severity : ""}`);
    // At the request where it was seen; what only the end of a run shows, at the end.
    (late ? cell : cell.querySelector(".sent") ?? cell).append(box);
  }

  on_ended(event) {
    const numbers = [...this.rows.keys()].filter(number => this.rows.get(number).cells.get(event.lane)?.childElementCount);
    const cell = this.place(event.lane, Math.max(1, ...numbers));
    const differs = event.claimed !== null && event.claimed !== event.observed;
    cell.append(el("div", "block end", el("h4", "", el("b", "", "■ "), "ended: ", el("code", "", event.observed)),
      differs ? el("p", "problem", `the lane itself says: ${event.claimed}`) : null,
      event.raised ? el("p", "problem", event.raised) : null));
    return `${event.lane} ended: ${event.observed}.`;
  }

  on_compared({comparison}) {
    for (const row of comparison.rows) this.verdict(row);
    for (const lane of comparison.lanes) for (const finding of lane.findings) if (finding.request) this.on_finding({lane: lane.name, number: finding.request, finding}, true);
    const several = comparison.lanes.length > 1;
    const head = several ? [`The lanes are `, el("b", "", `${VERDICTS[comparison.verdict]} ${comparison.verdict}`), "."] : ["One lane: nothing to compare, but what it did with the model's replies."];
    const rows = comparison.lanes.map(lane => {
      const count = severity => lane.findings.filter(one => one.severity === severity).length;
      const found = ["serious", "notice", "info"].filter(count).map(severity => `${count(severity)} ${severity}`).join(", ");
      const surprises = lane.surprises.length ? lane.surprises.join("; ") : comparison.as_expected === null ? "" : "as expected";
      return el("tr", "", headed("row", lane.name), el("td", "", lane.stop.observed), el("td", "", String(lane.requests)), el("td", "", found || "none"), el("td", "", surprises));
    });
    const names = ["lane", "ended", "requests", "findings", comparison.as_expected === null ? "" : "expected"];
    const table = el("table", "", el("thead", "", el("tr", "", names.map(name => headed("col", name)))), el("tbody", "", rows));
    const alone = comparison.lanes.flatMap(lane => lane.findings.filter(one => !one.request).map(one =>
      el("li", "", el("b", "", `${lane.name}: ${one.severity} `), el("code", "", one.class), " ", el("code", "soft", one.path), ` — ${one.consequence}`)));
    this.outcome.replaceChildren(el("h2", "", "Side by side"), el("p", "", ...head), comparison.teaches ? el("p", "soft", comparison.teaches) : "",
      el("div", "scroll", table), alone.length ? el("ul", "", alone) : "", this.cost(comparison.live));
    return several ? `The comparison is there: the lanes are ${comparison.verdict}.` : "The run is over.";
  }

  /** What a live run cost, and where lanes parted. */
  cost(live) {
    if (!live) return "";
    const lines = live.lanes.map(lane => {
      const tokens = lane.tokens.untold && !lane.tokens.prompt ? "tokens untold" : `${plural(lane.tokens.prompt, "prompt token")}, ${plural(lane.tokens.completion, "completion token")}`;
      const fork = lane.fork ? `; parted at request ${lane.fork.request}: ${lane.fork.reason}` : "";
      const problems = lane.problems.map(one => `; request ${one.request}: ${one.text}`).join("");
      return el("li", "", el("b", "", `${lane.name}: `), `${plural(lane.requests, "live request")} (${tokens}), ${plural(lane.shared, "reply").replace("replys", "replies")} shared${fork}${problems}`);
    });
    return el("div", "", el("p", "", `${plural(live.requests, "request")} went to `, el("code", "", live.endpoint), live.limit_reached ? ": the limit was reached." : "."), el("ul", "", lines));
  }

  /** Enter a row's verdict at the round whose requests hold it: what answers one reply is sent with the next request. */
  verdict(row) {
    const sent = row.round === 0 || row.cells.some(cell => cell.state === "sent");
    const place = (this.rows.get(row.round + (sent ? 1 : 0)) ?? this.rows.get(row.round))?.verdict;
    if (!place || this.lanes.size < 2) return;
    const order = Object.keys(VERDICTS), before = place.dataset.verdict ?? "same";
    const worst = order[Math.max(order.indexOf(before), order.indexOf(row.verdict))];
    const taken = new Set([...(place.dataset.taken ?? "").split(", "), ...row.tolerances].filter(Boolean));
    Object.assign(place.dataset, {verdict: worst, taken: [...taken].join(", ")});
    place.textContent = visible(`${VERDICTS[worst]} ${worst}${taken.size ? `, after ${[...taken].join(", ")}` : ""}`);
  }

  logged(event, state) {
    const host = event.to ?? (state.port ? `127.0.0.1:${state.port}` : location.host);
    const cells = [event.at?.toFixed(3) ?? "", event.lane, `${event.method} ${event.target}`, host, event.size.toLocaleString("en"), "…"];
    const row = el("tr", "", cells.map(cell => el("td", "", cell)));
    state.log.set(event.number, row);
    this.log.append(row);
    this.count++;
  }

  calls(message) {
    return Array.isArray(message?.tool_calls) ? message.tool_calls : [];
  }

  block(name, arrow, title, meta, event) {
    const asked = questions(event);
    const why = folded("explain", () => el("dl", "", asked.flatMap(([question, answer]) => [el("dt", "", question), el("dd", "", answer)])), "why");
    why.firstChild.setAttribute("aria-label", `explain this ${title}`);
    return el("div", `block ${name}`, el("h4", "", el("b", "", `${arrow} `), title, " ", el("span", "meta", meta)), asked.length ? why : null);
  }

  /** One message; one of the assistant's that is the model's own, unchanged, in a line. */
  message(lane, message, said) {
    if (message === null || typeof message !== "object") return el("p", "message", el("code", "problem", json(message)));
    const role = shown(message.role ?? null), made = this.calls(message);
    if (said && json(message) === json(said)) return el("div", "message", el("span", "role", role), made.map(call => this.chip(lane, call?.id)), el("span", "soft", " as the model sent it"));
    const box = el("div", "message", el("span", "role", role));
    if (role === "tool") box.append(this.chip(lane, message.tool_call_id));
    if ("content" in message || !made.length) box.append(message.content === null ? el("code", "soft null", "content null") : words(shown(message.content ?? null), role === "tool" ? "value" : "text"));
    for (const call of made) {
      const {name, arguments: written} = call?.function ?? {};
      box.append(el("div", "call", this.chip(lane, call?.id), el("code", "name", shown(name ?? null)), " ", words(shown(written ?? null), "code"), " ", el("small", "", "id ", el("code", "", shown(call?.id ?? null)))));
    }
    const rest = Object.entries(message).filter(([key]) => !["role", "content", "tool_calls", "tool_call_id"].includes(key));
    for (const [key, value] of rest) box.append(el("div", "call", el("small", "", `${key} `), words(json(value), "code")));
    return box;
  }

  raw(event, line) {
    return folded(`raw, ${plural(event.size, "byte")}`, () => {
      const head = [line, ...event.headers.map(([name, value]) => `${name}: ${value}`)].join("\n");
      const text = el("pre", "", `${head}\n\n${bytes(event.body)}`);
      text.tabIndex = 0;
      return text;
    }, "raw");
  }
}
