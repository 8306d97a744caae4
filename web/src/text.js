// SPDX-License-Identifier: MIT
// Names made safe to look at. A name may be any text: what is invisible, steers the direction of
// writing or is a control character is shown as an escape, by the same list as the command line's
// (src/tool/text/escape.c). Nothing here makes markup: all text reaches the page as text nodes.

const UNSAFE = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e' +
    '\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\ufffe\\uffff\\ufe00-\\ufe0f\\ue000-\\uf8ff' +
    '\\u{e0000}-\\u{10ffff}]|[\\ud800-\\udfff]',
  'gu',
);

const LONGEST = 2000; // characters kept of one name; the rest is in `bytepoll report --json`

function escape_of(character) {
  const code = character.codePointAt(0);
  return code < 0x80
    ? '\\x' + code.toString(16).padStart(2, '0')
    : '\\u{' + code.toString(16) + '}';
}

// Of a very long text both ends, with a mark between.
export function cut(text, length) {
  if (text.length <= length) return text;
  const tail = Math.floor((length - 1) / 2);
  return text.slice(0, length - 1 - tail) + '…' + text.slice(text.length - tail);
}

export function visible(text) {
  return cut(String(text), LONGEST).replace(UNSAFE, escape_of);
}

export function last_part(path) {
  const slash = path.lastIndexOf('/');
  return slash >= 0 && slash + 1 < path.length ? path.slice(slash + 1) : path;
}

// The last parts of paths, with as many folders before them as tell them apart.
export function distinct_names(paths) {
  const shown = (path, folders) => path.split('/').slice(-1 - folders).join('/');
  const names = paths.map(last_part);
  for (let folders = 1; folders <= 8; folders++) {
    const count = new Map();
    for (const name of names) count.set(name, (count.get(name) ?? 0) + 1);
    let again = false;
    names.forEach((name, i) => {
      if (count.get(name) === 1 || shown(paths[i], folders) === name) return;
      names[i] = shown(paths[i], folders);
      again = true;
    });
    if (!again) break;
  }
  return names;
}

// What a search box holds, as a test of a text: words without case, or /a pattern/.
export function matcher(words) {
  const text = words.trim();
  if (text === '') return null;
  const pattern = /^\/(.+)\/$/.exec(text);
  if (pattern) {
    try {
      const expression = new RegExp(pattern[1], 'i');
      return (name) => expression.test(name);
    } catch {
      return () => false;
    }
  }
  const small = text.toLowerCase();
  return (name) => name.toLowerCase().includes(small);
}
