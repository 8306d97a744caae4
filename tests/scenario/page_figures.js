// SPDX-License-Identifier: MIT
// The figures of a page as its own WebAssembly makes them, by a reader that knows docs/page-format.md and
// nothing of web/src. For tests/scenario/test_html.py.
//
// Usage: node page_figures.js PAGE.html < REQUESTS > ANSWERS
// A request is {metric, edge, window, by}: metric live (at edge number `edge`, or null: the last one), peak,
// allocated, temporary, or of a page of what was mapped mapped, mapped-peak, mapped-ever; window [i, j] or null; by function, thread, or all (one row, "all"). The answer
// is {name: [samples, bytes estimate, low, high, exact, objects estimate, low, high, exact]}.
'use strict';
const fs = require('fs');
const zlib = require('zlib');

const SUMS = 16;
const CLASSES = 17;
const METRICS = ['live', 'peak', 'allocated', 'temporary'];
const OF_MAPPED = { mapped: 'live', 'mapped-peak': 'peak', 'mapped-ever': 'allocated' }; // cells count as for these

function element(html, id) {
  const found = new RegExp('<script type="text/plain" id="' + id + '">([A-Za-z0-9+/=]*)</script>').exec(html);
  if (!found) throw new Error('no element ' + id);
  return zlib.gunzipSync(Buffer.from(found[1], 'base64'));
}

function readCells(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  if (data.toString('latin1', 0, 4) !== 'BPC2') throw new Error('wrong magic');
  const rows = view.getUint32(4, true);
  const records = view.getUint32(8, true);
  let at = 16;
  const column = (bytes, count, get) => {
    at = Math.ceil(at / 8) * 8;
    const values = new Array(count);
    for (let i = 0; i < count; i++, at += bytes) values[i] = get(at);
    return values;
  };
  const u32 = (o) => view.getUint32(o, true), u16 = (o) => view.getUint16(o, true), u8 = (o) => view.getUint8(o);
  const cells = { rows, stack: column(4, rows, u32), record: column(4, rows, u32), thread: column(2, rows, u16),
    type: column(2, rows, u16), size: column(1, rows, u8), made: column(1, rows, u8), freed: column(1, rows, u8),
    flags: column(1, rows, u8), number: column(1, rows, u8), sums: [] };
  for (let s = 0; s < SUMS; s++) cells.sums.push(column(8, records, (o) => view.getFloat64(o, true)));
  if (at !== data.length) throw new Error('the cells end at ' + at + ', the data at ' + data.length);
  cells.records = records;
  return cells;
}

class Page {
  constructor(file) {
    const html = fs.readFileSync(file, 'latin1');
    this.head = JSON.parse(element(html, 'bytepoll-head').toString('utf8'));
    this.cells = readCells(element(html, 'bytepoll-cells'));
    this.wasm = new WebAssembly.Instance(new WebAssembly.Module(element(html, 'bytepoll-wasm'))).exports;
    const a = this.head.assumptions;
    this.wasm.bp_page_assume(a.interval_unseen, a.charge, a.turnovers, a.alpha, this.head.unit === 'usable' ? 1 : 0,
      a.classes ? 1 : 0);
    this.records = a.classes ? CLASSES : 1;
  }

  doubles(address, count) {
    return new Float64Array(this.wasm.memory.buffer, address, count);
  }

  // Does a request count a cell?
  counts(request, i) {
    const c = this.cells, last = this.head.edges_s.length - 1;
    const [from, to] = request.window ?? [0, last];
    const made = c.made[i] >= from && (to === last || c.made[i] < to);
    if (request.metric === 'peak') return (c.flags[i] & 2) !== 0;
    if (request.metric === 'allocated') return made;
    if (request.metric === 'temporary') return made && (c.flags[i] & 1) !== 0;
    const edge = request.edge ?? last;
    return c.made[i] < edge && c.freed[i] >= edge;
  }

  // The records of what was allocated in the window and does not count.
  others(request) {
    const records = [];
    for (let i = 0; i < this.cells.rows; i++)
      if (!this.counts(request, i) && this.counts({ metric: 'allocated', window: request.window }, i))
        records.push(this.cells.record[i]);
    return records;
  }

  name(by, i) {
    if (by === 'all') return 'all';
    const { tree, stacks, attribution, frames, names, threads } = this.head;
    if (by === 'thread') return String(threads[this.cells.thread[i]][1]);
    const stack = this.cells.stack[i];
    let node = stacks[stack];
    if (node === 0) return '(no stack recorded)';
    for (let up = attribution[stack]; up > 0; up--) node -= tree[1][node - 1];
    return names[frames[tree[0][node - 1]][0]] || '(no name)';
  }

  windowNumber([i, j]) {
    const bins = this.head.edges_s.length - 1;
    let number = 0;
    for (let from = 0; from < i; from++) number += bins - from;
    return number + j - i - 1;
  }

  answer(asked) {
    const { wasm, cells, head } = this;
    if ((asked.metric in OF_MAPPED) !== (head.mapped === true)) throw new Error('a page of other metrics than ' + asked.metric);
    const request = { ...asked, metric: OF_MAPPED[asked.metric] ?? asked.metric };
    const window = request.window;
    const counted = window ? head.calibration.windows[this.windowNumber(window)] : head.calibration.whole;
    wasm.bp_page_calibrate(...counted, head.assumptions.size_min_beside);
    const rows = new Map();
    const members = [];
    for (let i = 0; i < cells.rows; i++) {
      if (!this.counts(request, i)) continue;
      const name = this.name(request.by, i);
      if (!rows.has(name)) rows.set(name, rows.size);
      members.push([rows.get(name), cells.record[i], cells.number[i]]);
    }
    // Memory: the records, then the rows, then the outside and the complement, then pairs.
    const stride = this.records, count = rows.size;
    const outside = head.calibration.outside ?? [];
    const [from, to] = window ?? [0, head.edges_s.length - 1];
    const total = cells.records + count * stride + outside.length + 1;
    const base = wasm.bp_page_memory(total * SUMS + members.length + 1);
    const all = this.doubles(base, total * SUMS).fill(0);
    for (let s = 0; s < SUMS; s++)
      for (let u = 0; u < cells.records; u++) all[u * SUMS + s] = cells.sums[s][u];
    const at = (record) => base + record * SUMS * 8;
    const firstRow = cells.records, firstOutside = firstRow + count * stride, complement = total - 1;
    outside.forEach((sums, i) => all.set(sums, (firstOutside + i) * SUMS));
    new Uint32Array(wasm.memory.buffer, base + total * SUMS * 8, 2 * members.length)
      .set(members.flatMap((m) => [m[0] * stride + (this.records > 1 ? m[2] : 0), m[1]]));
    wasm.bp_page_merge_pairs(at(firstRow), base, base + total * SUMS * 8, members.length);
    const result = {};
    const parts = counted[0] & 2 && !(request.metric === 'allocated' && request.by === 'all');
    const rest = parts ? this.others(request) : [];
    for (const [name, row] of rows) {
      const buffer = wasm.bp_page_buffer();
      if (this.records > 1)
        wasm_copy(this, wasm.bp_page_classes(), at(firstRow + row * stride), CLASSES);
      wasm_copy(this, buffer, at(firstRow + row * stride), 1);
      this.doubles(at(complement), SUMS).fill(0);
      if (parts) {
        for (let other = 0; other < count; other++)
          if (other !== row) wasm.bp_page_merge(at(complement), at(firstRow + other), 1);
        for (let bin = from; bin < outside.length && (to === outside.length - 1 || bin < to); bin++)
          wasm.bp_page_merge(at(complement), at(firstOutside + bin), 1);
        for (const record of rest) wasm.bp_page_merge(at(complement), at(record), 1);
      }
      wasm_copy(this, buffer + SUMS * 8, at(complement), 1);
      let samples = 0;
      for (let k = 0; k < stride; k++) samples += this.doubles(at(firstRow + row * stride + k), 1)[0];
      wasm.bp_page_estimate(request.by === 'all' && window && request.metric === 'allocated' ? 4
        : METRICS.indexOf(request.metric));
      const f = this.doubles(buffer, 10);
      const bound = head.assumptions.lower_bound[asked.metric] || head.assumptions.upper_bound[asked.metric];
      result[name] = [samples, f[0], f[1], f[2], f[3] && !bound ? 1 : 0, f[5], f[6], f[7], f[8] && !bound ? 1 : 0];
    }
    return result;
  }
}

function wasm_copy(page, to, from, records) {
  page.doubles(to, records * SUMS).set(page.doubles(from, records * SUMS));
}

const page = new Page(process.argv[2]);
const requests = JSON.parse(fs.readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(requests.map((request) => page.answer(request))));
