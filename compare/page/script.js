"use strict";
(() => {
  const $ = (one, all = document) => all.querySelector(one);
  const $$ = (one, all = document) => [...all.querySelectorAll(one)];
  document.documentElement.classList.add("js");

  // The matrix, narrowed by a text, a class of findings and a lane.
  const rows = $$("#matrix tbody tr"), lanes = $$("#fl option").length - 1;
  const cells = (row, lane) => {
    if (lane === "") return row.cells.length ? [...row.cells].slice(1) : [];
    const columns = [];
    for (const cell of [...row.cells].slice(1)) for (let i = 0; i < cell.colSpan; i++) columns.push(cell);
    const width = columns.length / lanes;
    return columns.slice(lane * width, (+lane + 1) * width);
  };
  const words = row => {
    const id = $("a", row).hash.slice(1), section = document.getElementById(id);
    return (row.textContent + " " + (section ? section.textContent : "")).toLowerCase();
  };
  const filter = () => {
    const text = $("#fq").value.trim().toLowerCase(), kind = $("#fc").value, lane = $("#fl").value;
    let shown = 0;
    for (const row of rows) {
      const found = cells(row, lane).flatMap(cell => $$("b,u,i", cell).map(it => it.textContent));
      const fits = (!kind || found.includes(kind)) && (lane === "" || kind || found.length) && (!text || words(row).includes(text));
      row.hidden = !fits;
      shown += fits;
    }
    $("#fn").textContent = shown + " of " + rows.length;
  };
  for (const id of ["#fq", "#fc", "#fl"]) $(id).addEventListener("input", filter);

  // The raw views, unpacked where they were packed.
  const unpack = async () => {
    const from = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%/()*+-;,=.?@^_:{|}~";
    const code = $("#pack").textContent, bytes = new Uint8Array(code.length / 5 * 4), view = new DataView(bytes.buffer);
    const value = Object.fromEntries([...from].map((sign, at) => [sign, at]));
    for (let i = 0; i < code.length; i += 5) {
      let number = 0;
      for (let j = 0; j < 5; j++) number = number * 85 + value[code[i + j]];
      view.setUint32(i / 5 * 4, number);
    }
    const size = +$("#pack").dataset.size;
    const stream = new Blob([bytes.slice(0, size)]).stream().pipeThrough(new DecompressionStream("deflate"));
    const [texts, holed] = JSON.parse(await new Response(stream).text());
    let next = 0;
    return holed.map(part => part && part.replace(/\0(\d*)\0/g, (_, number) => texts[number === "" ? next++ : number]));
  };
  if ($("#pack")) unpack().then(parts => $$("main .g").forEach((table, number) => {
    if (!parts[number]) return;
    const box = document.createElement("details"), head = document.createElement("summary");
    box.className = "wire";
    head.textContent = "The wire";
    box.append(head);
    table.after(box);
    box.addEventListener("toggle", () => {
      const holder = document.createElement("template");
      holder.innerHTML = parts[number]; // escaped by the one who wrote the page, as all of it
      box.append(holder.content);
      buttons(box);
    }, {once: true});
  }));

  // The command that sends a request again, with its exact bytes.
  const quoted = text => "'" + text.replaceAll("'", "'\\''") + "'";
  const command = (box, code) => {
    const body = $("pre.raw", box), exact = body.dataset.b64;
    if (exact !== undefined) return "printf %s " + quoted(exact) + " | base64 -d | " + code;
    return code.replace(/@-$/, "") .replace(/--data-binary $/, "--data-raw ") + quoted(body.textContent);
  };
  const buttons = all => $$(".curl", all).forEach(line => {
    const button = document.createElement("button"), code = $("code", line), head = code.textContent;
    button.textContent = "copy as curl";
    line.append(" ", button);
    button.addEventListener("click", async () => {
      code.textContent = command(line.parentElement, head);
      getSelection().selectAllChildren(code);
      try { await navigator.clipboard.writeText(code.textContent); button.textContent = "copied"; }
      catch { button.textContent = "selected: copy it"; }
    });
  });
  buttons(document);

  // The keyboard.
  const sections = $$("main > section"), many = document.body.classList.contains("many");
  const open = () => many ? sections.find(one => one.matches(":target") || $(":target", one)) : sections[0];
  const go = one => { location.hash = one.id; scrollTo(0, 0); };
  const mark = one => {
    for (const it of $$(".here")) it.classList.remove("here");
    one.classList.add("here");
    one.tabIndex = -1;
    one.focus({preventScroll: true});
    one.scrollIntoView({block: "center"});
  };
  const scenario = step => {
    const now = sections.indexOf(open()), next = sections[now < 0 ? (step > 0 ? 0 : sections.length - 1) : now + step];
    if (next && many) go(next);
    return next;
  };
  const move = (what, step) => {
    const all = $$(what), here = $(".here"), section = open() || sections[0];
    let now = all.indexOf(here && section.contains(here) ? here : null);
    if (now < 0) {
      const inside = all.filter(one => section.contains(one));
      const next = inside.length && open() ? (step > 0 ? inside[0] : inside.at(-1))
        : step > 0 ? all.find(one => section.compareDocumentPosition(one) & 4) : all.findLast(one => section.compareDocumentPosition(one) & 2);
      now = all.indexOf(next) - step;
    }
    const next = all[now + step];
    if (!next) return;
    const owner = next.closest("main > section");
    if (many && owner !== open()) go(owner);
    mark(next);
  };
  const keys = {
    j: () => scenario(1), k: () => scenario(-1),
    n: () => move(".fs,.fn,.fi", 1), p: () => move(".fs,.fn,.fi", -1),
    "]": () => move(".g h4", 1), "[": () => move(".g h4", -1),
    o: () => { location.hash = "top"; scrollTo(0, 0); },
    "/": () => { keys.o(); $("#fq").focus(); },
  };
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input,select,textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
