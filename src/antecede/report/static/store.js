"use strict";
/*
 * The events of the page. They come as blocks (see report/blocks.py): compressed columns in elements that nothing
 * runs. A block is read when something wants it, so that a page of a million events opens at once.
 */
const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
const STEP = 0, MESSAGE = 1, WAIT = 2, UNSENT = 3;
const OTHER = 0, SEND = 1, RECEIVE = 2, DELIVER = 3, ARRIVAL = 4, GHOST = 5;

/** One line in which every character can be seen; a long one ends in dots. The same as format_visible_line of report/text.py. */
function makeVisible(text) {
  const letters = text.length > 600 ? [...text] : [];
  const cut = letters.length > 600 ? letters.slice(0, 599).join("") + "…" : text;
  return cut.replace(/\r\n|[\n\r\u2028\u2029]/g, "↵").replaceAll("\t", " ")
    .replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]/gu, "\ufffd");
}

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers whose lowest bytes come first, then their next ones, and so on. */
function joinPlanes(bytes, type) {
  const width = type.BYTES_PER_ELEMENT, size = bytes.length / width;
  if (width === 1) return bytes;
  const joined = new Uint8Array(bytes.length);
  for (let byte = 0; byte < width; byte++) {
    for (let at = 0, to = byte, from = byte * size; at < size; at++, to += width) joined[to] = bytes[from + at];
  }
  return new type(joined.buffer);
}

/** Where the parts begin whose lengths these are, and where the last one ends. */
function startsOf(lengths) {
  const starts = new Uint32Array(lengths.length + 1);
  for (let at = 0; at < lengths.length; at++) starts[at + 1] = starts[at] + lengths[at];
  return starts;
}

/** A column of texts: `codes` has the number of each row's text, from 1; 0 is none. */
class Texts {
  constructor(codes, lengths, bytes) {
    this.codes = codes;
    this.starts = startsOf(lengths);
    this.bytes = bytes;
    this.decoder = new TextDecoder();
  }

  ofCode(code) { return makeVisible(this.decoder.decode(this.bytes.subarray(this.starts[code - 1], this.starts[code]))); }
  ofRow(row) { return this.codes[row] ? this.ofCode(this.codes[row]) : null; }

  /** The numbers of texts that contain these words, with those first that are nothing else; not all of very many. */
  search(words, most) {
    // A byte is a letter here, so that places in the text are places in the bytes.
    const bytewise = new TextDecoder("latin1");
    this.haystack ??= bytewise.decode(this.bytes).toLowerCase();
    const needle = bytewise.decode(new TextEncoder().encode(words)).toLowerCase();
    const hits = [], exact = [];
    for (let at = this.haystack.indexOf(needle), looks = 0; at >= 0 && looks < 20000; looks++) {
      const code = this.codeAt(at), end = this.starts[code];
      if (at + needle.length <= end) {
        const isWhole = at === this.starts[code - 1] && at + needle.length === end;
        if (isWhole) exact.push(code);
        else if (hits.length < most) hits.push(code);
        if (exact.length >= most) break;
      }
      at = this.haystack.indexOf(needle, Math.max(end, at + 1));
    }
    return [...exact, ...hits].slice(0, most);
  }

  /** The number of the text that the byte at this place belongs to. */
  codeAt(place) {
    let low = 0, high = this.starts.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= place) low = middle; else high = middle;
    }
    while (this.starts[low + 1] <= place) low++; // empty texts
    return low + 1;
  }
}

class Store {
  constructor(header) {
    this.size = header.events;
    this.processes = header.processes;
    this.executions = header.executions;
    this.kinds = header.kinds;
    this.groups = header.groups;
    this.promises = new Map();
    this.columns = {};
  }

  has(name) { return document.getElementById(`block-${name}`) !== null; }

  numbers(name) { return this.once(name, async () => {
    const block = document.getElementById(`block-${name}`);
    const bytes = await inflate(decodeBase64(block.textContent));
    return block.dataset.type === "text" ? bytes : joinPlanes(bytes, TYPES[block.dataset.type]);
  }); }

  texts(name) { return this.once(`texts of ${name}`, async () => {
    const parts = [name, `${name}-lengths`, `${name}-texts`].map((part) => this.numbers(part));
    return new Texts(...await Promise.all(parts));
  }); }

  once(name, make) {
    if (!this.promises.has(name)) this.promises.set(name, make());
    return this.promises.get(name);
  }

  /** What the overview needs. */
  loadShape() { return this.once("shape", async () => {
    const names = ["process", "act", "execution", "mark-rows", "mark-kinds"];
    [this.process, this.act, this.execution, this.markRows, this.markKinds] =
      await Promise.all(names.map((name) => this.numbers(name)));
    this.marksOfRow = new Map();
    this.markRows.forEach((row, mark) => {
      if (!this.marksOfRow.has(row - 1)) this.marksOfRow.set(row - 1, []);
      this.marksOfRow.get(row - 1).push(mark);
    });
  }); }

  /** What leads to what: of row r, causes are at causeStarts[r] to causeStarts[r + 1], effects likewise. */
  loadLinks() { return this.once("links", async () => {
    await this.loadShape();
    const names = ["link-counts", "link-distances", "link-kinds"], isHeld = this.has(names[0]);
    const [counts, distances, kinds] = await Promise.all(names.map((name) => (isHeld ? this.numbers(name) : new Uint8Array(0))));
    const size = this.size, starts = startsOf(isHeld ? counts : new Uint8Array(this.size)), causes = new Uint32Array(distances.length);
    const effectCounts = new Uint32Array(size), targets = new Uint32Array(distances.length);
    for (let row = 0; row < size; row++) {
      for (let link = starts[row]; link < starts[row + 1]; link++) {
        const distance = distances[link];
        const cause = row - (distance % 2 ? -(distance + 1) / 2 : distance / 2);
        causes[link] = cause;
        targets[link] = row;
        effectCounts[cause]++;
      }
    }
    const effectStarts = startsOf(effectCounts), effects = new Uint32Array(distances.length), next = effectStarts.slice();
    for (let link = 0; link < causes.length; link++) effects[next[causes[link]]++] = link;
    Object.assign(this, { causeStarts: starts, causes, targets, linkKinds: kinds, effectStarts, effects });
    this.rank = new Uint32Array(size); // the place of an event among those of its process and execution
    const seen = new Uint32Array(this.processes.length + 1);
    for (let row = 0; row < size; row++) {
      if (row && this.execution[row] !== this.execution[row - 1]) seen.fill(0);
      this.rank[row] = seen[this.process[row]]++;
    }
  }); }

  /** All columns that tell of single events, as far as this page holds them. */
  loadDetails() { return this.once("details", async () => {
    await this.loadLinks();
    const texts = ["message", "event", "file", "text"].filter((name) => this.has(name));
    const numbers = ["time", "line"].filter((name) => this.has(name));
    await Promise.all([
      ...texts.map(async (name) => { this.columns[name] = await this.texts(name); }),
      ...numbers.map(async (name) => { this.columns[name] = await this.numbers(name); }),
    ]);
    if (this.has("clock")) {
      const [counts, keys, values] = await Promise.all([this.numbers("clock"), this.texts("clock-keys"), this.numbers("clock-values")]);
      this.columns.clock = { starts: startsOf(counts), key: (at) => keys.ofRow(at), value: (at) => String(values[at]) };
    }
    if (this.has("fields")) {
      const [counts, keys, values] = await Promise.all([this.numbers("fields"), this.texts("fields-keys"), this.texts("fields-values")]);
      this.columns.fields = { starts: startsOf(counts), key: (at) => keys.ofRow(at), value: (at) => values.ofRow(at) };
    }
  }); }

  /** Events of one process in one execution have the same number; those of no known process share one. */
  laneOf(row) { return this.execution[row] * (this.processes.length + 1) + this.process[row]; }
  hasProcess(row) { return this.process[row] < this.processes.length; }
  processName(row) { return this.hasProcess(row) ? this.processes[this.process[row]] || "(empty name)" : "no process"; }
  text(name, row) { return this.columns[name] ? this.columns[name].ofRow(row) : null; }
  time(row) { return this.columns.time ? this.columns.time[row] : NaN; }

  /** The worst group of findings at an event, or undefined. */
  groupAt(row) {
    const marks = this.marksOfRow.get(row);
    return marks && this.groups[Math.min(...marks.map((mark) => this.kinds[this.markKinds[mark]].group))];
  }

  kindsAt(row) {
    const marks = this.marksOfRow.get(row) ?? [];
    return [...new Set(marks.map((mark) => this.kinds[this.markKinds[mark]].name))];
  }

  /** An event in a few words: p1 sends m4. */
  describe(row) {
    const who = this.hasProcess(row) ? this.processName(row) : "unknown process";
    const verb = { [SEND]: "sends", [RECEIVE]: "receives", [ARRIVAL]: "receives", [DELIVER]: "delivers" }[this.act[row]];
    const message = this.text("message", row);
    if (message !== null && verb) return `${who} ${verb} ${message}`;
    return `${who}: ${this.text("text", row) || message || this.text("event", row) || "event"}`;
  }

  place(row) {
    const file = this.text("file", row), line = this.columns.line ? this.columns.line[row] : NaN;
    if (file === null) return isNaN(line) ? "" : `line ${line}`;
    return isNaN(line) ? file : `${file}:${line}`;
  }

  /** The particulars of an event, one to a line; the first says what it is. */
  details(row) {
    const facts = [...this.kindsAt(row), ...(this.act[row] === GHOST ? ["ghost: not in the log"] : [])];
    const lines = [facts.length ? `${this.describe(row)} (${facts.join(", ")})` : this.describe(row), this.place(row)];
    const text = this.text("text", row), time = this.time(row), event = this.text("event", row);
    if (text) lines.push(`text: ${text}`);
    if (this.columns.clock && this.columns.clock.starts[row + 1] > this.columns.clock.starts[row]) lines.push(`clock: ${this.formatClock(row)}`);
    if (!isNaN(time)) lines.push(`time: ${formatTime(time)}`);
    if (event !== null) lines.push(`event: ${event}`);
    if (this.executions.length > 1) lines.push(`execution: ${this.executions[this.execution[row]]}`);
    const { fields } = this.columns;
    for (let at = fields?.starts[row]; at < fields?.starts[row + 1]; at++) {
      if (fields.value(at) !== null) lines.push(`${fields.key(at)}: ${fields.value(at)}`);
    }
    return lines.filter(Boolean).join("\n");
  }

  /** The own entry first, then as people count; not more than fit. */
  formatClock(row) {
    const { starts, key, value } = this.columns.clock, entries = [];
    for (let at = starts[row]; at < starts[row + 1]; at++) entries.push([key(at), value(at)]);
    const own = this.processName(row);
    entries.sort(([a], [b]) => (b === own) - (a === own) || a.localeCompare(b, "en", { numeric: true }));
    const shown = entries.slice(0, 64).map(([name, count]) => `${name}=${count}`).join(" ");
    return entries.length > 64 ? `${shown} and ${entries.length - 64} more` : shown;
  }

  /** All rows from which a row can be reached, or which can be reached from it, each way with a number of its own. */
  findCone(row) {
    const cone = new Uint8Array(this.size);
    this.reach(row, cone, 1, (at) => [this.causeStarts[at], this.causeStarts[at + 1]], (link) => this.causes[link], (link) => link);
    this.reach(row, cone, 2, (at) => [this.effectStarts[at], this.effectStarts[at + 1]], (link) => this.targets[this.effects[link]], (link) => this.effects[link]);
    cone[row] = 0;
    return cone;
  }

  /** Rows on a cycle are both; they keep the first number. */
  reach(start, cone, number, range, next, linkOf) {
    const open = [start], seen = number === 1 ? cone : cone.slice();
    while (open.length) {
      const [low, high] = range(open.pop());
      for (let at = low; at < high; at++) {
        const row = next(at);
        if (this.linkKinds[linkOf(at)] === UNSENT || seen[row] === number) continue;
        seen[row] = number;
        if (cone[row] === 0) cone[row] = number;
        open.push(row);
      }
    }
  }
}

function formatNumber(value) { return value.toLocaleString("en"); }

/** Milliseconds: those of this age as a date, in UTC. */
function formatTime(time) {
  if (time > 1e11 && time < 2.5e14) return new Date(time).toISOString().replace("T", " ").replace("Z", " UTC");
  return `${time.toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 })} ms`;
}
