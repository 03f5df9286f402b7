/*
 * A space-time diagram of some events: a vertical line per process, a row per event, causes first, arrows for messages.
 * Everything is made with createElementNS and textContent: what stands in a log is text and nothing else.
 */
const SVG = "http://www.w3.org/2000/svg";
const ROW = 27, HEAD = 34, EDGE = 18, RADIUS = 6;
const NARROW = 96, WIDE = 280;
const DRAWN_WHOLE = 300, DRAWN_NEARBY = 60;
const LABEL_HEIGHT = { [SEND]: -4, [RECEIVE]: 12, [DELIVER]: 12, [ARRIVAL]: 12 };
const ACT_NAMES = ["local", "send", "receive", "deliver", "arrival", "local"];

function element(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent) parent.append(made);
  return made;
}

/** Letters that fit a width in pixels: the beginning or, of names that mostly differ at their ends, both ends. */
const ruler = document.createElement("canvas").getContext("2d");
function fitText(text, width, font = "12px system-ui, sans-serif", endShare = 0) {
  ruler.font = font;
  if (ruler.measureText(text).width <= width) return text;
  const letters = [...text];
  const cut = (size) => {
    const tail = Math.floor(size * endShare);
    return letters.slice(0, size - tail).join("") + "…" + letters.slice(letters.length - tail).join("");
  };
  let low = 1, high = letters.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ruler.measureText(cut(middle)).width <= width) low = middle; else high = middle;
  }
  return cut(low);
}

/**
 * The rows of a picture around some events: all of a small execution; of a large one what is nearest by causes,
 * whichever way they lead, on as many processes as there is room for.
 */
function chooseRows(store, seeds, mostLanes) {
  const execution = store.execution[seeds[0]];
  let low = seeds[0], high = seeds[0];
  while (low > 0 && store.execution[low - 1] === execution && high - low < DRAWN_WHOLE) low--;
  while (high < store.size - 1 && store.execution[high + 1] === execution && high - low < DRAWN_WHOLE) high++;
  if (high - low < DRAWN_WHOLE) return Array.from({ length: high - low + 1 }, (_, at) => low + at);
  const chosen = new Set(seeds), lanes = new Set(seeds.map((row) => store.laneOf(row)));
  const most = Math.max(DRAWN_NEARBY, seeds.length + 40), queue = [...seeds];
  const take = (row) => {
    if (chosen.has(row) || chosen.size >= most) return;
    const lane = store.laneOf(row);
    if (!lanes.has(lane) && lanes.size >= mostLanes) return;
    lanes.add(lane);
    chosen.add(row);
    queue.push(row);
  };
  for (let next = 0; next < queue.length && chosen.size < most; next++) {
    const row = queue[next];
    for (let at = store.causeStarts[row]; at < store.causeStarts[row + 1]; at++) take(store.causes[at]);
    for (let at = store.effectStarts[row]; at < store.effectStarts[row + 1]; at++) take(store.targets[store.effects[at]]);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** Lines as SVG paths: along a process, across to another one, in a bow back to the same one, and stubs. */
const paths = {
  point: ([x, y]) => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`,
  unit([x, y], [toX, toY]) {
    const length = Math.hypot(toX - x, toY - y) || 1;
    return [(toX - x) / length, (toY - y) / length];
  },
  rim(event, other) {
    const [x, y] = this.unit(event, other);
    return [event[0] + x * RADIUS, event[1] + y * RADIUS];
  },
  /** Two strokes that end where the line does; they are part of its path, so that they have its color. */
  head(start, end) {
    const [x, y] = this.unit(start, end), back = [end[0] - x * 7, end[1] - y * 7];
    const left = [back[0] - y * 3.2, back[1] + x * 3.2], right = [back[0] + y * 3.2, back[1] - x * 3.2];
    return `M${this.point(left)}L${this.point(end)}L${this.point(right)}`;
  },
  arrow(start, end) { return `M${this.point(start)}L${this.point(end)}${this.head(start, end)}`; },
  across(start, end) { return this.arrow(this.rim(start, end), this.rim(end, start)); },
  along: (start, end) => `M${start[0]} ${start[1]}V${end[1]}`,
  /** Around what is between the two: the further apart, the wider. */
  bow(start, end, column) {
    const width = Math.min(column * 0.8, 72, 24 + Math.abs(end[1] - start[1]) * 0.2);
    const middle = [start[0] - width, (start[1] + end[1]) / 2];
    const from = this.rim(start, middle), to = this.rim(end, middle);
    return `M${this.point(from)}Q${this.point(middle)} ${this.point(to)}${this.head(middle, to)}`;
  },
  into(event) { const outside = [event[0] - 20, event[1] - 15]; return this.arrow(outside, this.rim(event, outside)); },
  outOf(event) { const outside = [event[0] - 20, event[1] + 15]; return this.arrow(this.rim(event, outside), outside); },
};

class Picture {
  constructor(store, box, status, card, onSelect) {
    Object.assign(this, { store, box, status, card, onSelect, rows: [] });
    const at = (target) => this.places?.get(target.closest?.(".event"));
    box.addEventListener("scroll", () => this.names?.setAttribute("transform", `translate(0 ${box.scrollTop})`));
    box.addEventListener("click", ({ target }) => { const row = at(target); row === undefined ? this.reset() : this.select(this.rows[row]); });
    box.addEventListener("mousemove", ({ target, clientX, clientY }) => {
      const row = at(target);
      row === undefined ? card.hide() : card.show(store.details(this.rows[row]), clientX, clientY);
    });
    box.addEventListener("mouseleave", () => card.hide());
    box.addEventListener("focusout", () => card.hide());
    box.addEventListener("keydown", (key) => this.press(key, at(key.target)));
  }

  /** Draws what surrounds these events, which are the witness of a finding or what somebody looks at. */
  draw(seeds, label) {
    const { store } = this;
    this.card.hide();
    const room = Math.max(this.box.clientWidth - EDGE * 2 - 2, 2 * NARROW);
    this.rows = chooseRows(store, seeds, Math.floor(room / NARROW));
    this.placeOf = new Map(this.rows.map((row, at) => [row, at]));
    const lanes = [...new Map(this.rows.map((row) => [store.laneOf(row), row]))];
    lanes.sort(([, a], [, b]) => store.process[a] - store.process[b] || store.execution[a] - store.execution[b]);
    const column = Math.floor(Math.max(NARROW, Math.min(WIDE, room / Math.max(lanes.length, 2))));
    const lane = new Map(lanes.map(([number], at) => [number, at]));
    this.points = this.rows.map((row, at) => [EDGE + column * lane.get(store.laneOf(row)) + 24, HEAD + ROW * (at + 1)]);
    const width = EDGE * 2 + column * Math.max(lanes.length, 2), height = 2 * HEAD + ROW * (this.rows.length + 1);
    const svg = element("svg", { class: "spacetime", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
    const lives = element("g", { class: "lives" }, svg);
    for (const [number, row] of lanes) {
      const x = EDGE + column * lane.get(number) + 24;
      if (store.hasProcess(row)) element("path", { d: `M${x} ${HEAD - 4}V${height - HEAD + 4}` }, lives);
    }
    this.drawLinks(element("g", { class: "links" }, svg), column);
    this.drawEvents(element("g", { class: "events" }, svg), column);
    this.drawNames(svg, lanes, column, width, height);
    this.svg = svg;
    this.box.replaceChildren(svg);
    this.box.scrollTo(0, 0);
    this.status.textContent = "";
  }

  drawLinks(group, column) {
    const { store } = this, joined = new Set();
    this.links = [];
    const add = (kind, from, to, d) => {
      const late = kind !== "step" && kind !== "gap" && to !== null && store.kindsAt(this.rows[to]).includes("late");
      const ghost = [from, to].some((at) => at !== null && store.act[this.rows[at]] === GHOST);
      const ends = { ...(from === null ? {} : { "data-from": from }), ...(to === null ? {} : { "data-to": to }) };
      const path = element("path", { class: kind + (late ? " late" : "") + (ghost ? " ghost" : ""), ...ends, d }, group);
      if (ghost || from === null || to === null) path.setAttribute("stroke-dasharray", "4 3");
      if (from !== null && to !== null) this.links.push({ path, from, to, kind });
    };
    this.rows.forEach((row, to) => {
      for (let at = store.causeStarts[row]; at < store.causeStarts[row + 1]; at++) {
        const kind = store.linkKinds[at], from = this.placeOf.get(store.causes[at]) ?? null;
        if (kind === STEP && from === null) continue;
        if (kind === STEP) joined.add(to);
        const end = this.points[to], start = from === null ? null : this.points[from];
        if (kind === STEP || (kind === WAIT && start)) add(kind === STEP ? "step" : "wait", from, to, paths.along(start, end));
        else if (start === null) add("message", null, to, paths.into(end));
        else add(kind === UNSENT ? "message unsent" : "message", from, to, start[0] === end[0] ? paths.bow(start, end, column) : paths.across(start, end));
      }
      const isLeaving = (at) => store.linkKinds[store.effects[at]] === MESSAGE && !this.placeOf.has(store.targets[store.effects[at]]);
      for (let at = store.effectStarts[row]; at < store.effectStarts[row + 1]; at++) {
        if (isLeaving(at)) { add("message", to, null, paths.outOf(this.points[to])); break; }
      }
    });
    this.drawGaps(group, joined);
  }

  /** Where the picture leaves out events of a process, it says how many. */
  drawGaps(group, joined) {
    const { store } = this, last = new Map();
    this.rows.forEach((row, to) => {
      if (!store.hasProcess(row) || store.act[row] === ARRIVAL) return;
      const lane = store.laneOf(row), from = last.get(lane);
      last.set(lane, to);
      if (from === undefined || joined.has(to)) return;
      const between = store.rank[row] - store.rank[this.rows[from]] - 1;
      if (between < 1) return;
      const [x, y] = this.points[to];
      const text = element("text", { class: "gap", x: x - 5, y: (y + this.points[from][1]) / 2 + 4, "text-anchor": "end" }, group);
      text.textContent = `⋮ ${formatNumber(between)}`;
      element("title", {}, text).textContent = `${formatNumber(between)} events of ${store.processName(row)} are not drawn`;
    });
  }

  drawEvents(group, column) {
    const { store } = this;
    this.places = new Map();
    this.events = this.rows.map((row, at) => {
      const act = store.act[row], mark = store.groupAt(row), kinds = store.kindsAt(row);
      const isLate = act !== ARRIVAL && kinds.includes("late"), isGhost = act === GHOST;
      const classes = ["event", ACT_NAMES[act], isLate && "late", isGhost && "ghost", mark && `finding ${mark}`];
      const made = element("g", {
        class: classes.filter(Boolean).join(" "), id: `event-${at}`, "data-row": row, role: "button", tabindex: at ? "-1" : "0",
        transform: `translate(${paths.point(this.points[at])})`, "aria-label": store.details(row).split("\n").slice(0, 2).join(", "),
      }, group);
      if (mark) element("circle", { class: "ring", r: 9 }, made);
      element("circle", { class: "hit", r: 12 }, made);
      if (act === OTHER || isGhost) element("rect", { class: "mark", x: -4, y: -4, width: 8, height: 8, rx: 1.5 }, made);
      else element("circle", { class: "mark", r: act === ARRIVAL ? 3 : 5 }, made);
      const name = store.text("message", row) || store.text("text", row) || store.text("event", row) || "";
      const label = element("text", { x: mark ? 13 : 9, y: LABEL_HEIGHT[act] ?? 4 }, made);
      label.textContent = fitText(kinds.length ? `${name} ${kinds[0]}`.trim() : name, column - 22);
      this.places.set(made, at);
      return made;
    });
  }

  /** The names at both ends; those at the top stay in sight. */
  drawNames(svg, lanes, column, width, height) {
    const { store } = this, several = new Set(lanes.map(([, row]) => store.execution[row])).size > 1;
    for (const [end, top] of [["top", 0], ["bottom", height - HEAD]]) {
      const group = element("g", { class: `names ${end}` }, svg);
      element("rect", { class: "band", y: top, width, height: HEAD }, group);
      lanes.forEach(([, row], at) => {
        const name = store.processName(row) + (several ? ` · ${store.executions[store.execution[row]]}` : "");
        const text = element("text", { x: EDGE + column * at + 8, y: top + 21 }, group);
        text.textContent = fitText(name, column - 16, "600 13px system-ui, sans-serif", 0.6);
        element("title", {}, text).textContent = name;
      });
      if (end === "top") this.names = group;
    }
  }

  press(key, at) {
    if (at === undefined) return;
    if (key.key === "Enter" || key.key === " ") this.select(this.rows[at]);
    else if (this.target(key.key, at) === undefined) return;
    else this.focus(this.target(key.key, at));
    key.preventDefault();
  }

  /** Up and down along the process, left and right to the nearest event of the next one. */
  target(key, at) {
    const x = (event) => this.points[event][0], all = [...this.rows.keys()];
    if (key === "Home") return 0;
    if (key === "End") return all.length - 1;
    if (key === "ArrowDown") return all.find((event) => event > at && x(event) === x(at));
    if (key === "ArrowUp") return all.findLast((event) => event < at && x(event) === x(at));
    if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
    const side = all.filter((event) => (key === "ArrowLeft" ? x(event) < x(at) : x(event) > x(at)));
    const next = key === "ArrowLeft" ? Math.max(...side.map(x)) : Math.min(...side.map(x));
    return side.filter((event) => x(event) === next).sort((a, b) => Math.abs(a - at) - Math.abs(b - at))[0];
  }

  focus(at) {
    const event = this.events[at];
    for (const other of this.svg.querySelectorAll('.event[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    event.setAttribute("tabindex", "0");
    event.focus({ preventScroll: true });
    event.querySelector(".hit").scrollIntoView({ block: "nearest", inline: "nearest" });
    const place = event.querySelector(".mark").getBoundingClientRect();
    this.card.show(this.store.details(this.rows[at]), place.right, place.bottom);
  }

  /** Scrolls the picture, and not the page, to an event. */
  reveal(row) {
    const at = this.placeOf.get(row);
    if (at === undefined) return;
    const [x, y] = this.points[at];
    this.box.scrollTo(x - this.box.clientWidth / 2, y - this.box.clientHeight / 2);
  }

  /** Lights up the past and the future of one event, here and in the overview. */
  select(row) {
    const { store } = this, cone = store.findCone(row), at = this.placeOf.get(row);
    this.unlight();
    if (at !== undefined) {
      this.svg.classList.add("lit");
      this.events.forEach((event, place) => event.classList.add(["other", "past", "future"][cone[this.rows[place]]]));
      this.events[at].classList.add("here");
      const isPast = (place) => place === at || cone[this.rows[place]] === 1, isFuture = (place) => place === at || cone[this.rows[place]] === 2;
      for (const { path, from, to } of this.links) {
        path.classList.toggle("past", isPast(from) && isPast(to));
        path.classList.toggle("future", isFuture(from) && isFuture(to));
      }
    }
    let before = 0, after = 0, all = 0;
    for (let other = 0; other < store.size; other++) {
      if (store.execution[other] !== store.execution[row]) continue;
      all++;
      if (cone[other] === 1) before++;
      else if (cone[other] === 2) after++;
    }
    const told = [before, after, all - 1 - before - after].map(formatNumber);
    this.status.textContent = `${store.describe(row)}: ${told[0]} before, ${told[1]} after, ${told[2]} concurrent.`;
    this.onSelect(row, cone, this.status.textContent);
  }

  /** Marks the events of a witness, and what leads from one to the next. */
  mark(rows) {
    const chosen = new Set(rows.map((row) => this.placeOf.get(row)).filter((at) => at !== undefined));
    const belongs = ({ kind, from }) => kind === "wait" || this.store.act[this.rows[from]] === GHOST;
    for (const link of this.links) if (belongs(link) && chosen.has(link.to)) chosen.add(link.from);
    const steps = this.stepsBetween(chosen);
    this.unlight();
    this.svg.classList.add("lit");
    for (const at of chosen) this.events[at].classList.add("witness");
    for (const link of this.links) {
      const isAcross = link.kind !== "step" && chosen.has(link.from) && chosen.has(link.to);
      link.path.classList.toggle("witness", isAcross || steps.has(link));
    }
    this.status.textContent = `The witness: ${rows.length === 1 ? "1 event" : `${rows.length} events`}.`;
  }

  /** The steps of a process from one chosen event to its next one. */
  stepsBetween(chosen) {
    const next = new Map(this.links.filter(({ kind }) => kind === "step").map((link) => [link.from, link]));
    const between = new Set();
    for (const at of chosen) {
      const walked = [];
      for (let link = next.get(at); link; link = next.get(link.to)) {
        walked.push(link);
        if (chosen.has(link.to)) { walked.forEach((step) => between.add(step)); break; }
      }
    }
    return between;
  }

  unlight() {
    this.svg?.classList.remove("lit");
    for (const lit of this.svg?.querySelectorAll(".past, .future, .here, .witness, .other") ?? []) lit.classList.remove("past", "future", "here", "witness", "other");
  }

  reset() {
    this.unlight();
    this.status.textContent = "";
    this.onSelect(null, null, "");
  }
}
