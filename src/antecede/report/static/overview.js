/*
 * The whole log on one canvas: a line per process, events from left to right, causes first; above them how many
 * findings there are. Whoever zooms in sees single events and messages. Very many processes share lines.
 */
const STRIP = 46, AXIS = 22, TALLEST = 380, FINDING_BAR = 4;

class Overview {
  constructor(store, canvas, status, card, onPick) {
    Object.assign(this, { store, canvas, status, card, onPick, low: 0, high: store.size, cursor: 0, lane: 0, cone: null, selected: null });
    const processes = store.processes.length + (store.process.includes(store.processes.length) ? 1 : 0);
    this.perLane = Math.ceil(processes / TALLEST);
    this.lanes = Math.ceil(processes / this.perLane);
    this.markOrder = [...store.markRows.keys()].filter((mark) => store.markRows[mark] > 0)
      .sort((a, b) => store.markRows[a] - store.markRows[b]);
    this.listen();
    this.draw();
  }

  listen() {
    const { canvas } = this;
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    canvas.addEventListener("keydown", (key) => this.press(key));
    canvas.addEventListener("focus", () => { this.draw(); this.tell(); });
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("wheel", (turn) => {
      if (!turn.ctrlKey && document.activeElement !== canvas) return;
      turn.preventDefault();
      this.zoom(turn.deltaY > 0 ? 1.3 : 1 / 1.3, this.rowAt(turn.offsetX));
    }, { passive: false });
    this.listenToPointer(canvas);
  }

  /** A click picks an event; a drag moves what is seen. */
  listenToPointer(canvas) {
    let start = null;
    canvas.addEventListener("pointerdown", (down) => { start = { x: down.offsetX, low: this.low, moved: false }; });
    canvas.addEventListener("pointermove", (move) => {
      if (!start || !move.buttons) { this.point(move); return; }
      const distance = move.offsetX - start.x;
      if (Math.abs(distance) > 4) start.moved = true;
      if (start.moved) this.moveTo(start.low - distance / this.scale);
    });
    canvas.addEventListener("pointerup", (up) => {
      const isClick = start && !start.moved;
      start = null;
      if (isClick) this.pickAt(up.offsetX, up.offsetY);
    });
    canvas.addEventListener("pointercancel", () => { start = null; });
    canvas.addEventListener("pointerleave", () => { start = null; this.card.hide(); });
  }

  get scale() { return this.width / (this.high - this.low); }
  rowAt(x) { return Math.max(0, Math.min(this.store.size - 1, Math.floor(this.low + (x - this.gutter) / this.scale))); }
  laneAt(y) { return Math.max(0, Math.min(this.lanes - 1, Math.floor((y - STRIP) / this.laneHeight))); }
  xOf(row) { return this.gutter + (row + 0.5 - this.low) * this.scale; }
  yOf(lane) { return STRIP + (lane + 0.5) * this.laneHeight; }
  laneOf(row) { return Math.floor(this.store.process[row] / this.perLane); }

  laneName(lane) {
    const { processes } = this.store, name = (code) => (code < processes.length ? processes[code] || "(empty name)" : "no process");
    return this.perLane > 1 ? `${name(lane * this.perLane)} and others` : name(lane);
  }

  zoom(factor, around) {
    const span = Math.max(Math.min(20, this.store.size), Math.min(this.store.size, Math.round((this.high - this.low) * factor)));
    const share = (around - this.low) / (this.high - this.low);
    this.show(around - share * span, span);
  }

  moveTo(low) { this.show(low, this.high - this.low); }

  show(low, span) {
    this.low = Math.round(Math.max(0, Math.min(this.store.size - span, low)));
    this.high = this.low + span;
    this.draw();
  }

  /** Brings a row into sight, and near if what is seen is much too wide. */
  reveal(row) {
    this.cursor = row;
    this.lane = this.laneOf(row);
    const span = this.high - this.low;
    if (row < this.low + span * 0.05 || row > this.high - span * 0.05) this.show(row - span / 2, span);
    else this.draw();
  }

  select(row, cone) {
    this.selected = row;
    this.cone = cone;
    this.status.textContent = "";
    if (row !== null) this.reveal(row);
    else this.draw();
  }

  press(key) {
    const span = this.high - this.low, step = Math.max(1, Math.round(span / 40));
    const actions = {
      ArrowLeft: () => this.moveCursor(-step), ArrowRight: () => this.moveCursor(step),
      ArrowUp: () => this.moveLane(-1), ArrowDown: () => this.moveLane(1),
      "+": () => this.zoom(0.5, this.cursor), "=": () => this.zoom(0.5, this.cursor), "-": () => this.zoom(2, this.cursor),
      Home: () => this.show(0, this.store.size), 0: () => this.show(0, this.store.size),
      n: () => this.jump(1), p: () => this.jump(-1), Enter: () => this.pick(this.nearest(this.cursor, this.lane)),
    };
    if (key.ctrlKey || key.metaKey || key.altKey || !actions[key.key]) return;
    actions[key.key]();
    key.preventDefault();
    this.tell();
  }

  moveCursor(step) {
    this.cursor = Math.max(0, Math.min(this.store.size - 1, this.cursor + step));
    this.keepInSight();
  }

  moveLane(step) {
    this.lane = Math.max(0, Math.min(this.lanes - 1, this.lane + step));
    this.draw();
  }

  keepInSight() {
    if (this.cursor < this.low || this.cursor >= this.high) this.moveTo(this.cursor - (this.high - this.low) / 2);
    else this.draw();
  }

  /** To the next or the previous finding. */
  jump(way) {
    const { store, markOrder } = this, place = (mark) => store.markRows[mark] - 1;
    const next = way > 0 ? markOrder.find((mark) => place(mark) > this.cursor) : markOrder.findLast((mark) => place(mark) < this.cursor);
    if (next === undefined) return;
    this.reveal(place(next));
    this.tell();
  }

  tell() {
    const row = this.nearest(this.cursor, this.lane), kinds = row === null ? [] : this.store.kindsAt(row);
    const where = `event ${formatNumber(this.cursor + 1)} of ${formatNumber(this.store.size)}`;
    this.status.textContent = `${this.laneName(this.lane)}, ${where}${kinds.length ? `: ${kinds.join(", ")}` : ""}. Enter draws what is here.`;
  }

  pickAt(x, y) {
    this.cursor = this.rowAt(x);
    if (y < STRIP) { // the findings: take the nearest one
      const near = this.markOrder.map((mark) => this.store.markRows[mark] - 1);
      if (near.length) this.pick(near.reduce((a, b) => (Math.abs(b - this.cursor) < Math.abs(a - this.cursor) ? b : a)));
      return;
    }
    this.lane = this.laneAt(y);
    this.pick(this.nearest(this.cursor, this.lane));
  }

  pick(row) { if (row !== null) this.onPick(row); }

  /** The event of a process that is nearest to a row; one at fault is taken before others that are as good as near. */
  nearest(row, lane) {
    const { store } = this, reach = Math.ceil(2 / this.scale);
    let best = null;
    for (let distance = 0; distance < store.size; distance++) {
      for (const at of [row - distance, row + distance]) {
        if (at < 0 || at >= store.size || this.laneOf(at) !== lane) continue;
        if (store.marksOfRow.has(at)) return at;
        best ??= at;
      }
      if (best !== null && distance >= reach) break;
    }
    return best;
  }

  point(move) {
    const { store } = this, row = this.rowAt(move.offsetX), lane = this.laneAt(move.offsetY);
    if (move.offsetX < this.gutter || !store.size) { this.card.hide(); return; }
    const lines = move.offsetY < STRIP ? ["findings"] : [this.laneName(lane)];
    const time = store.time(row);
    lines.push(`near event ${formatNumber(row + 1)}${isNaN(time) ? "" : `, ${formatTime(time)}`}`);
    const reach = Math.max(1, Math.ceil(3 / this.scale)), tally = {};
    for (let at = row - reach; at <= row + reach; at++) {
      if (move.offsetY >= STRIP && this.laneOf(at) !== lane) continue;
      for (const kind of store.kindsAt(at)) tally[kind] = (tally[kind] ?? 0) + 1;
    }
    for (const [kind, count] of Object.entries(tally)) lines.push(`${formatNumber(count)} ${kind}`);
    this.card.show(lines.join("\n"), move.clientX, move.clientY);
  }

  draw() {
    const { store, canvas } = this, ratio = devicePixelRatio || 1, full = canvas.parentElement.clientWidth;
    if (!full || !store.size) return;
    this.gutter = full < 600 ? 64 : 132;
    this.width = full - this.gutter;
    this.laneHeight = Math.max(1, Math.min(22, TALLEST / Math.max(this.lanes, 1)));
    if (this.laneHeight > 3) this.laneHeight = Math.floor(this.laneHeight);
    const height = Math.ceil(STRIP + this.laneHeight * this.lanes + AXIS);
    canvas.width = Math.round(full * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const style = getComputedStyle(canvas);
    this.color = (name) => style.getPropertyValue(`--${name}`).trim();
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.drawLanes(pen, full);
    if (this.high - this.low <= this.width / 4) this.drawSingles(pen);
    else this.drawDensity(pen);
    this.drawMarks(pen);
    this.drawAxis(pen, height);
    this.drawCursor(pen, height);
  }

  drawLanes(pen, full) {
    const every = Math.ceil(13 / this.laneHeight);
    for (let lane = 0; lane < this.lanes; lane++) {
      const y = this.yOf(lane);
      if (this.laneHeight >= 6) {
        pen.fillStyle = this.color("faint");
        pen.fillRect(this.gutter, Math.round(y), full - this.gutter, 1);
      }
      if (lane % every) continue;
      pen.fillStyle = this.color("soft");
      pen.fillText(fitText(this.laneName(lane), this.gutter - 12, pen.font, 0.6), 2, y + (every > 1 ? 5 : 0));
    }
    pen.fillStyle = this.color("soft");
    pen.fillText("findings", 2, STRIP - 16);
  }

  /** How many events each process has in each pixel: the more, the darker. Past and future have their colors. */
  drawDensity(pen) {
    const { store, cone, lanes, scale } = this, columns = Math.ceil(this.width);
    const counts = new Uint32Array(columns * lanes), cones = new Uint8Array(counts.length);
    let most = 1;
    for (let row = this.low; row < this.high; row++) {
      const cell = this.laneOf(row) * columns + Math.floor((row - this.low) * scale);
      if (++counts[cell] > most) most = counts[cell];
      if (cone) cones[cell] |= cone[row];
    }
    // A pixel for each cell, stretched to the height of its line.
    const sheet = new OffscreenCanvas(columns, lanes), sheetPen = sheet.getContext("2d"), pixels = sheetPen.createImageData(columns, lanes);
    const inks = ["mark", "past", "future", "past"].map((name) => this.color(name).match(/[0-9a-f]{2}/gi).map((byte) => parseInt(byte, 16)));
    for (let cell = 0; cell < counts.length; cell++) {
      if (!counts[cell]) continue;
      const isDim = cone && !cones[cell];
      pixels.data.set(inks[cones[cell]], cell * 4);
      pixels.data[cell * 4 + 3] = (isDim ? 70 : 255) * (0.3 + 0.6 * Math.sqrt(counts[cell] / most));
    }
    sheetPen.putImageData(pixels, 0, 0);
    const margin = this.laneHeight > 4 ? 1 : 0, tall = Math.max(1, this.laneHeight - 2 * margin);
    pen.imageSmoothingEnabled = false;
    for (let lane = 0; lane < lanes; lane++) pen.drawImage(sheet, 0, lane, columns, 1, this.gutter, STRIP + lane * this.laneHeight + margin, columns, tall);
  }

  /** Single events, and the messages between those that are seen. */
  drawSingles(pen) {
    const { store } = this, ink = { 0: this.color("mark"), 1: this.color("past"), 2: this.color("future") };
    const alpha = (row) => (this.cone && !this.cone[row] && row !== this.selected ? 0.3 : 1);
    pen.lineWidth = 1;
    for (let row = this.low; store.causeStarts && row < this.high; row++) {
      for (let at = store.causeStarts[row]; at < store.causeStarts[row + 1]; at++) {
        const cause = store.causes[at];
        if (store.linkKinds[at] === STEP || cause < this.low) continue;
        pen.strokeStyle = ink[this.cone?.[row] ?? 0];
        pen.globalAlpha = 0.55 * Math.min(alpha(row), alpha(cause));
        pen.beginPath();
        pen.moveTo(this.xOf(cause), this.yOf(this.laneOf(cause)));
        pen.lineTo(this.xOf(row), this.yOf(this.laneOf(row)));
        pen.stroke();
      }
    }
    const radius = Math.max(1.5, Math.min(4.5, this.laneHeight / 3));
    for (let row = this.low; row < this.high; row++) {
      pen.globalAlpha = alpha(row);
      pen.fillStyle = ink[this.cone?.[row] ?? 0];
      pen.beginPath();
      pen.arc(this.xOf(row), this.yOf(this.laneOf(row)), radius, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  /** Findings on the lines of their processes, and above all how many there are, the gravest at the bottom. */
  drawMarks(pen) {
    const { store } = this, bars = Math.ceil(this.width / FINDING_BAR), tally = store.groups.map(() => new Uint32Array(bars));
    for (const mark of this.markOrder.toReversed()) {
      const row = store.markRows[mark] - 1;
      if (row < this.low || row >= this.high) continue;
      const { group } = store.kinds[store.markKinds[mark]], x = this.xOf(row);
      tally[group][Math.min(bars - 1, Math.floor((x - this.gutter) / FINDING_BAR))]++;
      pen.fillStyle = this.color(`group-${store.groups[group]}`);
      const tall = Math.max(3, this.laneHeight - 2);
      pen.fillRect(x - 1.5, this.yOf(this.laneOf(row)) - tall / 2, 3, tall);
    }
    let most = 1;
    for (let bar = 0; bar < bars; bar++) most = Math.max(most, tally.reduce((sum, counts) => sum + counts[bar], 0));
    for (let bar = 0; bar < bars; bar++) {
      let y = STRIP - 6;
      tally.forEach((counts, group) => {
        if (!counts[bar]) return;
        const tall = Math.max(2, (counts[bar] / most) * (STRIP - 12));
        y -= tall;
        pen.fillStyle = this.color(`group-${store.groups[group]}`);
        pen.fillRect(this.gutter + bar * FINDING_BAR, y, FINDING_BAR - 1, tall);
      });
    }
    pen.fillStyle = this.color("line");
    pen.fillRect(this.gutter, STRIP - 6, this.width, 1);
  }

  drawAxis(pen, height) {
    const { store } = this, ends = [this.low, this.high - 1].map((row) => {
      const time = store.time(row);
      return `event ${formatNumber(row + 1)}${isNaN(time) ? "" : ` · ${formatTime(time)}`}`;
    });
    pen.fillStyle = this.color("soft");
    pen.fillText(fitText(ends[0], this.width / 2 - 12), this.gutter, height - AXIS / 2);
    pen.textAlign = "right";
    pen.fillText(fitText(ends[1], this.width / 2 - 12), this.gutter + this.width, height - AXIS / 2);
    pen.textAlign = "left";
  }

  drawCursor(pen, height) {
    const isFocused = document.activeElement === this.canvas;
    if (this.selected === null && !isFocused) return;
    pen.strokeStyle = this.color("ink");
    pen.lineWidth = 1.5;
    if (this.cursor >= this.low && this.cursor < this.high) {
      pen.beginPath();
      pen.moveTo(this.xOf(this.cursor), 4);
      pen.lineTo(this.xOf(this.cursor), height - AXIS);
      pen.stroke();
    }
    pen.fillStyle = this.color("ink");
    pen.fillRect(0, STRIP + this.lane * this.laneHeight, 2, Math.max(this.laneHeight, 3));
    if (isFocused) pen.strokeRect(this.gutter, STRIP + this.lane * this.laneHeight, this.width - 1, Math.max(this.laneHeight, 3));
  }
}
