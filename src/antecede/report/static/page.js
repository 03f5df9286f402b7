/* What happens on the page: from findings to pictures and back, the search, the keys. */
class Card {
  constructor(box) { this.box = box; }

  /** The card beside a place on the screen, wholly on the screen. */
  show(text, x, y) {
    const { box } = this;
    box.textContent = text;
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - width - 16 : x + 16;
    box.style.left = `${Math.max(4, left)}px`;
    box.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - height - 4))}px`;
  }

  hide() { this.box.hidden = true; }
}

class Page {
  constructor(store) {
    this.store = store;
    this.card = new Card(document.getElementById("card"));
    this.caption = document.getElementById("caption");
    this.backLink = document.getElementById("back");
    this.findings = [...document.querySelectorAll(".findings > li")];
    this.shown = null; // the number of the finding whose picture is drawn
    for (const tool of ["previous", "next"]) document.querySelector(`[data-tool=${tool}]`)?.toggleAttribute("hidden", !this.findings.length);
    this.listen();
  }

  async start() {
    const { store } = this;
    await store.loadShape();
    if (store.size) {
      const part = (id) => document.getElementById(id);
      this.overview = new Overview(store, part("overview"), part("overview-status"), this.card, (row) => this.lookAt([row]));
      this.picture = new Picture(store, part("drawing"), part("picture-status"), this.card, (row, cone, told) => {
        this.overview.select(row, cone);
        this.overview.status.textContent = told;
      });
    }
    this.search = new Search(this);
    document.documentElement.dataset.ready = "shape";
    if (!store.size) return;
    await store.loadDetails();
    this.overview.draw();
    if (!this.follow(location.hash)) this.drawFirst();
    document.documentElement.dataset.ready = "all";
  }

  listen() {
    document.addEventListener("keydown", (key) => this.press(key));
    document.addEventListener("click", ({ target }) => {
      const tool = target.closest?.("[data-tool]"), find = target.closest?.("[data-find]");
      if (tool) this.useTool(tool.dataset.tool);
      if (find) this.search?.ask(find.dataset.find);
      const link = target.closest?.('a[href^="#"]');
      if (link && link.hash === location.hash) this.follow(link.hash); // the browser takes no notice of it
    });
    addEventListener("hashchange", () => this.follow(location.hash));
    addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
  }

  press(key) {
    if (key.key === "Escape") { this.card.hide(); this.picture?.reset(); return; }
    if (key.key !== "/" || key.ctrlKey || key.metaKey || key.altKey || key.target.closest?.("input")) return;
    document.getElementById("search").focus();
    key.preventDefault();
  }

  useTool(name) {
    const { overview } = this;
    if (name === "previous" || name === "next") { this.step(name === "next" ? 1 : -1); return; }
    if (!overview) return;
    const middle = overview.selected ?? (overview.low + overview.high) / 2;
    if (name === "in") overview.zoom(0.5, middle);
    if (name === "out") overview.zoom(2, middle);
    if (name === "whole") overview.show(0, this.store.size);
  }

  rowsOf(finding) { return (finding.dataset.rows ?? "").split(" ").filter(Boolean).map(Number); }

  /** To the picture of the next finding that is listed and not filtered out. */
  step(way) {
    const open = this.findings.map((finding, at) => at).filter((at) => !this.findings[at].hidden && this.findings[at].dataset.rows);
    const next = way > 0 ? open.find((at) => at > (this.shown ?? -1)) : open.findLast((at) => at < (this.shown ?? this.findings.length));
    if (next !== undefined) location.hash = `#picture-${next}`;
  }

  /** #picture-7 is the picture of finding 7; #finding-7 is the finding itself. */
  follow(hash) {
    const [, kind, number] = /^#(picture|finding)-(\d+)$/.exec(hash) ?? [];
    const finding = this.findings[number];
    if (!finding) return false;
    if (kind === "finding") {
      const fold = finding.closest("details");
      if (fold) fold.open = true;
      finding.focus({ preventScroll: true });
      finding.scrollIntoView({ block: "center" });
      return false;
    }
    if (!this.picture || !this.store.causeStarts) return false;
    this.showFinding(Number(number));
    document.getElementById("picture-title").scrollIntoView({ block: "nearest" });
    return true;
  }

  showFinding(number) {
    const finding = this.findings[number], rows = this.rowsOf(finding);
    if (!rows.length) return;
    this.setShown(number);
    this.draw(rows, finding.querySelector("p").textContent);
    this.picture.mark(rows);
    this.overview.select(rows[rows.length - 1], null);
  }

  setShown(number) {
    if (this.shown !== null) this.findings[this.shown].removeAttribute("aria-current");
    this.shown = number;
    this.backLink.hidden = number === null;
    if (number === null) return;
    this.findings[number].setAttribute("aria-current", "true");
    this.backLink.href = `#finding-${number}`;
  }

  draw(rows, caption) {
    this.picture.draw(rows, caption);
    this.caption.textContent = caption;
    const drawn = this.picture.rows.length, rest = this.store.size - drawn;
    const told = `${formatNumber(drawn)} events are drawn, those nearest by causes; ${formatNumber(rest)} are not. Dashed arrows lead to them.`;
    document.getElementById("picture-left").textContent = rest ? told : "Every event is drawn.";
    this.picture.reveal(rows[0]);
  }

  /** What surrounds some events that somebody chose; the first one is lit. */
  async lookAt(rows, label) {
    await this.store.loadDetails();
    if (label === undefined && this.picture.placeOf?.has(rows[0])) {
      this.picture.reveal(rows[0]);
    } else {
      this.setShown(null);
      this.draw(rows, label ?? `Around ${this.store.describe(rows[0])}`);
    }
    this.picture.select(rows[0]);
  }

  /** The worst finding; or where nothing was found, the beginning. */
  drawFirst() {
    const first = this.findings.findIndex((finding) => finding.dataset.rows);
    if (first >= 0) this.showFinding(first);
    else this.draw([0], "The beginning");
  }
}

class Search {
  constructor(page) {
    this.page = page;
    this.box = document.getElementById("search");
    this.results = document.getElementById("results");
    this.matches = document.getElementById("matches");
    this.box.addEventListener("input", () => this.run());
    this.box.addEventListener("keydown", (key) => {
      if (key.key === "Enter" || key.key === "ArrowDown") {
        const first = this.results.querySelector("button") ?? page.findings.find((finding) => !finding.hidden)?.querySelector("a");
        if (!first) return;
        key.preventDefault();
        if (key.key === "Enter") first.click();
        else first.focus();
      }
      if (key.key === "Escape") this.ask("");
    });
    this.results.addEventListener("keydown", (key) => {
      const all = [...this.results.querySelectorAll("button")], at = all.indexOf(document.activeElement);
      const next = { ArrowDown: all[at + 1], ArrowUp: all[at - 1] ?? this.box }[key.key];
      if (!next) return;
      key.preventDefault();
      next.focus();
    });
  }

  ask(text) {
    this.box.value = text;
    this.box.focus();
    this.run();
  }

  async run() {
    const { page } = this, { store } = page, text = this.box.value.trim();
    this.filter(text.toLowerCase().replaceAll("→", " ").split(/\s+/).filter(Boolean));
    if (!text || !store.size) { this.results.replaceChildren(); return; }
    const needle = text.toLowerCase(), found = [];
    store.processes.forEach((name, code) => {
      if (found.length < 6 && name.toLowerCase().includes(needle)) found.push(["process", name || "(empty name)", () => this.goToProcess(code)]);
    });
    await store.loadDetails();
    for (const column of ["message", "event"]) {
      const texts = store.columns[column];
      for (const code of texts ? texts.search(text, 6) : []) found.push([column, texts.ofCode(code), () => this.goToRows(column, texts, code)]);
    }
    if (this.box.value.trim() !== text) return; // somebody has gone on typing
    this.results.replaceChildren(...found.map(([word, name, go]) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      const label = document.createElement("small");
      label.textContent = word;
      button.append(label, ` ${name}`);
      button.addEventListener("click", go);
      item.append(button);
      return item;
    }));
  }

  goToProcess(code) {
    const { store } = this.page;
    this.goTo([store.process.indexOf(code)], `The beginning of ${store.processes[code] || "(empty name)"}`);
  }

  /** All events with this message or id. */
  goToRows(column, texts, code) {
    const rows = [];
    for (let row = texts.codes.indexOf(code); row >= 0 && rows.length < 20; row = texts.codes.indexOf(code, row + 1)) rows.push(row);
    this.goTo(rows, `${column} ${texts.ofCode(code)}`);
  }

  async goTo(rows, label) {
    const { store, picture } = this.page, near = rows.filter((row) => store.execution[row] === store.execution[rows[0]]);
    await this.page.lookAt(near, label);
    document.getElementById("picture-title").scrollIntoView({ block: "nearest" });
    picture.focus(picture.placeOf.get(near[0]));
  }

  filter(words) {
    const items = this.page.findings;
    for (const item of items) {
      item.words ??= item.textContent.toLowerCase();
      item.hidden = !words.every((word) => item.words.includes(word));
    }
    for (const fold of document.querySelectorAll(".kind details")) {
      if (words.length) fold.open = true;
      fold.hidden = !fold.querySelector("li:not([hidden])");
    }
    for (const kind of document.querySelectorAll(".kind")) kind.hidden = !kind.querySelector("li:not([hidden])");
    const left = items.filter((item) => !item.hidden).length;
    this.matches.textContent = words.length ? `${formatNumber(left)} of ${formatNumber(items.length)} findings on this page` : "";
  }
}

document.documentElement.classList.add("scripted");
new Page(new Store(JSON.parse(document.getElementById("log").textContent))).start();
