// SPDX-License-Identifier: MIT
// From the text in the page's script elements to what they hold: base64, then gzip, then JSON or
// columns. Nothing is asked of any server; the page is one file.

function from_base64(text) {
  if (typeof Uint8Array.fromBase64 === 'function') return Uint8Array.fromBase64(text.trim());
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The bytes of an element; null: the page has none of this id.
export async function element_bytes(id) {
  const element = document.getElementById(id);
  if (element === null || element.textContent.trim() === '') return null;
  const bytes = await inflate(from_base64(element.textContent));
  element.textContent = '';
  return bytes;
}

export async function element_json(id) {
  const bytes = await element_bytes(id);
  return bytes === null ? null : JSON.parse(new TextDecoder().decode(bytes));
}

export const SUMS = 16;

// The cells, as typed arrays over the one buffer: what a cell is of, the number of its record, and the
// records of 16 sums, column by column. Refuses what is shorter than it says.
export function read_cells(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 16 || view.getUint32(0, true) !== 0x32435042)
    throw new Error('the cells of this page are no cells of bytepoll');
  const rows = view.getUint32(4, true);
  const records = view.getUint32(8, true);
  let at = 16;
  const column = (kind, count) => {
    at = Math.ceil(at / 8) * 8;
    const size = kind.BYTES_PER_ELEMENT * count;
    if (at + size > bytes.byteLength) throw new Error('the cells of this page are cut short');
    const values = new kind(bytes.buffer, bytes.byteOffset + at, count);
    at += size;
    return values;
  };
  const cells = { rows, records };
  cells.stack = column(Uint32Array, rows);
  cells.record = column(Uint32Array, rows);
  cells.thread = column(Uint16Array, rows);
  cells.type = column(Uint16Array, rows);
  cells.size_class = column(Uint8Array, rows);
  cells.made = column(Uint8Array, rows);
  cells.freed = column(Uint8Array, rows);
  cells.flags = column(Uint8Array, rows);
  cells.number = column(Uint8Array, rows);
  cells.sums = [];
  for (let i = 0; i < SUMS; i++) cells.sums.push(column(Float64Array, records));
  return cells;
}
