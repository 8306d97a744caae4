// SPDX-License-Identifier: MIT
// Where the graph is painted: on a canvas, or into an SVG document for export. The same few strokes
// for both, so that the file shows what the screen shows.

const FONT = '12px Inter, "DejaVu Sans", system-ui, sans-serif';

const widths = new Map();
const widths_ascii = new Float64Array(128); // 0: not measured yet

// The font and the widths of its letters, a first context: made while data are unpacked.
export function prepare_painter() {
  const painter = new CanvasPainter(document.createElement('canvas'), 1, 1);
  for (let code = 32; code < 127; code++) painter.measure_one(String.fromCharCode(code));
}

export class CanvasPainter {
  constructor(canvas, width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, Math.max(1, 60e6 / (width * height)));
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
    this.context = canvas.getContext('2d');
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = 'middle';
    this.patterns = new Map();
  }

  rect(x, y, width, height, fill, alpha) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  // A colour, and then what is to be filled with it.
  fill(fill, alpha) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = fill;
  }

  filled(x, y, width, height) {
    this.context.fillRect(x, y, width, height);
  }

  // From alpha `from` at the left to `to` at the right.
  fade(x, y, width, height, fill, from, to) {
    this.context.globalAlpha = 1;
    const gradient = this.context.createLinearGradient(x, 0, x + width, 0);
    gradient.addColorStop(0, fill.replace(')', ' / ' + from + ')'));
    gradient.addColorStop(1, fill.replace(')', ' / ' + to + ')'));
    this.context.fillStyle = gradient;
    this.context.fillRect(x, y, width, height);
  }

  hatch(x, y, width, height, ink, ground, alpha) {
    this.rect(x, y, width, height, ground, 1);
    this.context.globalAlpha = alpha;
    this.context.fillStyle = this.pattern(ink);
    this.context.fillRect(x, y, width, height);
  }

  pattern(ink) {
    let pattern = this.patterns.get(ink);
    if (pattern !== undefined) return pattern;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 6;
    const context = tile.getContext('2d');
    context.strokeStyle = ink;
    context.lineWidth = 1.6;
    context.beginPath();
    for (const at of [-6, 0, 6]) {
      context.moveTo(at - 1, 7);
      context.lineTo(at + 7, -1);
    }
    context.stroke();
    pattern = this.context.createPattern(tile, 'repeat');
    this.patterns.set(ink, pattern);
    return pattern;
  }

  line(x, y0, y1, ink, width) {
    this.context.globalAlpha = 1;
    this.context.strokeStyle = ink;
    this.context.lineWidth = width;
    this.context.beginPath();
    this.context.moveTo(x, y0);
    this.context.lineTo(x, y1);
    this.context.stroke();
  }

  frame(x, y, width, height, ink, thick) {
    this.context.globalAlpha = 1;
    this.context.strokeStyle = ink;
    this.context.lineWidth = thick;
    this.context.strokeRect(x + thick / 2, y + thick / 2, Math.max(width - thick, 0.5), height - thick);
  }

  // Widths are sums of those of characters, each measured once: asking for every text anew took as
  // long as all the painting.
  measure(text) {
    let width = 0;
    for (const character of text) width += this.measure_one(character);
    return width;
  }

  measure_one(character) {
    const code = character.charCodeAt(0);
    if (code < 128) return widths_ascii[code] || (widths_ascii[code] = this.context.measureText(character).width);
    let width = widths.get(character);
    if (width === undefined) {
      width = this.context.measureText(character).width;
      widths.set(character, width);
    }
    return width;
  }

  text(text, x, y, ink, alpha) {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = ink;
    this.context.fillText(text, x, y + 0.5);
  }
}

const SVG = 'http://www.w3.org/2000/svg';

export class SvgPainter {
  constructor(width, height, ground, measure) {
    this.document = document.implementation.createDocument(SVG, 'svg', null);
    this.root = this.document.documentElement;
    this.set(this.root, { width, height, viewBox: '0 0 ' + width + ' ' + height, 'font-family': 'DejaVu Sans, sans-serif', 'font-size': 12 });
    this.definitions = this.add('defs', {});
    this.add('rect', { width, height, fill: ground });
    this.numbers = new Map();
    this.measure = measure;
    this.measure_one = measure;
  }

  set(element, attributes) {
    for (const name in attributes) element.setAttribute(name, attributes[name]);
  }

  add(name, attributes, parent) {
    const element = this.document.createElementNS(SVG, name);
    for (const key in attributes)
      if (typeof attributes[key] === 'number') attributes[key] = +attributes[key].toFixed(2);
    this.set(element, attributes);
    (parent ?? this.root).append(element);
    return element;
  }

  rect(x, y, width, height, fill, alpha) {
    this.add('rect', { x, y, width, height, fill, 'fill-opacity': alpha });
  }

  fill(fill, alpha) {
    this.filling = { fill, 'fill-opacity': alpha };
  }

  filled(x, y, width, height) {
    this.add('rect', { x, y, width, height, ...this.filling });
  }

  fade(x, y, width, height, fill, from, to) {
    const name = fill + from + to;
    if (!this.numbers.has(name)) {
      const id = 'g' + this.numbers.size;
      this.numbers.set(name, id);
      const gradient = this.add('linearGradient', { id }, this.definitions);
      this.add('stop', { offset: 0, 'stop-color': fill, 'stop-opacity': from }, gradient);
      this.add('stop', { offset: 1, 'stop-color': fill, 'stop-opacity': to }, gradient);
    }
    this.add('rect', { x, y, width, height, fill: 'url(#' + this.numbers.get(name) + ')' });
  }

  hatch(x, y, width, height, ink, ground, alpha) {
    if (!this.numbers.has(ink)) {
      const id = 'h' + this.numbers.size;
      this.numbers.set(ink, id);
      const tile = this.add(
        'pattern', { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, this.definitions,
      );
      this.add('line', { x1: 0, y1: 0, x2: 0, y2: 6, stroke: ink, 'stroke-width': 3 }, tile);
    }
    this.rect(x, y, width, height, ground, 1);
    this.add('rect', { x, y, width, height, fill: 'url(#' + this.numbers.get(ink) + ')', 'fill-opacity': alpha });
  }

  line(x, y0, y1, ink, width) {
    this.add('line', { x1: x, x2: x, y1: y0, y2: y1, stroke: ink, 'stroke-width': width });
  }

  frame(x, y, width, height, ink, thick) {
    this.add('rect', { x: x + thick / 2, y: y + thick / 2, width: Math.max(width - thick, 0.5), height: height - thick, fill: 'none', stroke: ink, 'stroke-width': thick });
  }

  text(text, x, y, ink, alpha) {
    const element = this.add('text', { x, y: y + 4, fill: ink, 'fill-opacity': alpha });
    element.textContent = text;
  }

  source() {
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(this.document) + '\n';
  }
}
