
"use strict";
(() => {
  const card = document.getElementById("card");
  const pictures = [];

  /** The card beside a place on the screen, wholly on the screen. */
  function showCard(text, x, y) {
    card.textContent = text;
    card.hidden = false;
    const box = card.getBoundingClientRect();
    const left = x + 16 + box.width > innerWidth ? x - box.width - 16 : x + 16;
    card.style.left = Math.max(4, left) + "px";
    card.style.top = Math.max(4, Math.min(y + 12, innerHeight - box.height - 4)) + "px";
  }

  function hideCard() { card.hidden = true; }

  /** All that can be reached from a row. */
  function reach(start, next) {
    const seen = new Set(), open = [start];
    while (open.length) {
      for (const row of next[open.pop()]) if (!seen.has(row)) { seen.add(row); open.push(row); }
    }
    return seen;
  }

  class Picture {
    constructor(svg) {
      this.svg = svg;
      this.status = svg.closest("figure").querySelector(".status");
      this.events = [...svg.querySelectorAll(".event")];
      this.rows = new Map(this.events.map((event, row) => [event, row]));
      this.links = [...svg.querySelectorAll("path[data-from][data-to]")].map((path) => (
        { path, from: +path.dataset.from, to: +path.dataset.to }));
      this.before = this.events.map(() => []);
      this.after = this.events.map(() => []);
      for (const { from, to } of this.links) { this.before[to].push(from); this.after[from].push(to); }
      this.about = this.events.map((event) => this.takeTitle(event));
      if (this.events.length) this.events[0].setAttribute("tabindex", "0");
      this.listen();
    }

    /** The browser's own hint would stand over the card. */
    takeTitle(event) {
      const title = event.querySelector("title"), text = title.textContent;
      title.remove();
      event.setAttribute("role", "button");
      event.setAttribute("tabindex", "-1");
      event.setAttribute("aria-label", text.split("\n").slice(0, 2).join(", "));
      return text;
    }

    listen() {
      const box = this.svg.parentElement, names = this.svg.querySelector(".names.top");
      const at = (target) => this.rows.get(target.closest(".event"));
      box.addEventListener("scroll", () => names.setAttribute("transform", `translate(0 ${box.scrollTop})`));
      box.addEventListener("click", ({ target }) => { const row = at(target); row === undefined ? resetAll() : this.light(row); });
      box.addEventListener("mousemove", ({ target, clientX, clientY }) => {
        const row = at(target);
        row === undefined ? hideCard() : showCard(this.about[row], clientX, clientY);
      });
      box.addEventListener("mouseleave", hideCard);
      box.addEventListener("focusout", hideCard); // a listener on the SVG itself would make it a tab stop
      box.addEventListener("keydown", (key) => this.press(key, at(key.target)));
    }

    press(key, row) {
      if (row === undefined) return;
      if (key.key === "Enter" || key.key === " ") this.light(row);
      else if (this.target(key.key, row) === undefined) return;
      else this.focus(this.target(key.key, row));
      key.preventDefault();
    }

    /** Up and down along the process, left and right to the nearest event of the next one. */
    target(key, row) {
      const x = (at) => this.events[at].transform.baseVal[0].matrix.e;
      const all = [...this.events.keys()], near = (a, b) => Math.abs(a - row) - Math.abs(b - row);
      if (key === "Home") return 0;
      if (key === "End") return all.length - 1;
      if (key === "ArrowDown") return all.find((at) => at > row && x(at) === x(row));
      if (key === "ArrowUp") return all.findLast((at) => at < row && x(at) === x(row));
      if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
      const side = all.filter((at) => (key === "ArrowLeft" ? x(at) < x(row) : x(at) > x(row)));
      const next = key === "ArrowLeft" ? Math.max(...side.map(x)) : Math.min(...side.map(x));
      return side.filter((at) => x(at) === next).sort(near)[0];
    }

    focus(row) {
      const event = this.events[row];
      for (const other of this.svg.querySelectorAll('.event[tabindex="0"]')) other.setAttribute("tabindex", "-1");
      event.setAttribute("tabindex", "0");
      event.focus({ preventScroll: true });
      this.bringIn(event, "nearest");
      const place = event.querySelector(".mark").getBoundingClientRect();
      showCard(this.about[row], place.right, place.bottom);
    }

    bringIn(event, block) { event.querySelector(".hit").scrollIntoView({ block, inline: block }); }

    /** The past and the future of one event. */
    light(row) {
      const past = reach(row, this.before), future = reach(row, this.after);
      resetAll();
      this.svg.classList.add("lit");
      this.events.forEach((event, at) => {
        event.classList.toggle("past", past.has(at) && at !== row);
        event.classList.toggle("future", future.has(at) && at !== row);
      });
      this.events[row].classList.add("here");
      for (const { path, from, to } of this.links) {
        path.classList.toggle("past", past.has(from) && (past.has(to) || to === row));
        path.classList.toggle("future", future.has(to) && (future.has(from) || from === row));
      }
      past.delete(row);
      future.delete(row);
      const rest = this.events.length - 1 - new Set([...past, ...future]).size;
      this.status.textContent = `${this.about[row].split("\n")[0]}: ${past.size} before, ${future.size} after, ${rest} concurrent.`;
    }

    /** The events of a witness, and what leads from one to the next. */
    mark(rows) {
      const chosen = new Set(rows);
      for (const { path, from, to } of this.links) if (path.matches(".wait") && chosen.has(to)) chosen.add(from);
      const steps = this.stepsBetween(chosen);
      resetAll();
      this.svg.classList.add("lit");
      for (const row of chosen) this.events[row].classList.add("witness");
      for (const link of this.links) {
        const across = !link.path.matches(".step") && chosen.has(link.from) && chosen.has(link.to);
        link.path.classList.toggle("witness", across || steps.has(link));
      }
      this.status.textContent = `The witness of a finding: ${rows.length} events.`;
    }

    /** The steps of a process from one chosen row to its next one. */
    stepsBetween(chosen) {
      const next = new Map(this.links.filter(({ path }) => path.matches(".step")).map((link) => [link.from, link]));
      const found = new Set();
      for (const row of chosen) {
        const walked = [];
        for (let link = next.get(row); link; link = next.get(link.to)) {
          walked.push(link);
          if (chosen.has(link.to)) { walked.forEach((step) => found.add(step)); break; }
        }
      }
      return found;
    }

    reset() {
      this.svg.classList.remove("lit");
      this.status.textContent = "";
      for (const lit of this.svg.querySelectorAll(".past, .future, .here, .witness")) lit.classList.remove("past", "future", "here", "witness");
    }
  }

  function resetAll() { for (const picture of pictures) if (picture) picture.reset(); }

  /** #w0-3 is row 3 of the first picture; #w0-3-12 are the events of a witness. */
  function follow(hash) {
    const found = /^#w(\d+)((?:-\d+)+)$/.exec(hash);
    const picture = found && pictures[+found[1]];
    if (!picture) return;
    const rows = found[2].split("-").slice(1).map(Number).filter((row) => row < picture.events.length);
    if (!rows.length) return;
    if (rows.length === 1) picture.light(rows[0]);
    else picture.mark(rows);
    picture.bringIn(picture.events[rows[0]], "center");
  }

  function filter(box) {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const items = [...document.querySelectorAll(".findings > li")];
    for (const item of items) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
    for (const fold of document.querySelectorAll(".kind details")) {
      if (words.length) fold.open = true;
      fold.hidden = !fold.querySelector("li:not([hidden])");
    }
    for (const kind of document.querySelectorAll(".kind")) kind.hidden = !kind.querySelector("li:not([hidden])");
    const left = items.filter((item) => !item.hidden).length;
    document.getElementById("matches").textContent = words.length ? `${left} of ${items.length} on this page` : "";
  }

  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    pictures.push(svg && new Picture(svg));
  }
  const box = document.getElementById("filter");
  if (box) box.addEventListener("input", () => filter(box));
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") { resetAll(); hideCard(); } });
  document.addEventListener("click", ({ target }) => {
    const link = target.closest('a[href^="#w"]');
    if (link) follow(link.hash);
  });
  addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
  addEventListener("hashchange", () => follow(location.hash));
  follow(location.hash);
})();
