// SPDX-License-Identifier: MIT
// Long names of functions, shortened so that the function itself stays, by the rules of the command line
// (src/tool/text/name_text.h). A name is parted at its top level, outside all brackets: arguments of
// templates <...>, parameters (...), and words that stay whole (operator<, {lambda(int)#1}, (anonymous
// namespace), [abi:cxx11]). What goes, in this order: arguments within brackets, parameters, all
// arguments, the type that is returned, namespaces from the outermost one on, what stands behind the last
// component. That stays; of a closure with what it is in, and without its operator(). A name whose
// brackets do not match has no parts and is cut in the middle. Pure; time is linear.

import { cut } from './text.js';

const CONTENT_MIN = 4; // characters in brackets that a mark is shorter than
const LONGEST = 2000;
const COMPONENTS = 12; // of a name that are left out one by one

const OPERATOR = /operator\s*(\(\)|\[\]|<=>|->\*|->|<<=|>>=|<<|>>|&&|\|\||\+\+|--|[<>=!+\-*/%^&|~,]=?|""\s?[\w$]+)/y;
const CLOSER = { '<': '>', '(': ')', '[': ']', '{': '}' };
const is_word = (c) => c !== undefined && /[\w$\u0080-\uffff]/.test(c);

// Where the bracket at `at` is closed, or -1.
function close_of(name, at) {
  const open = [];
  for (let i = at; i < name.length; i++) {
    const c = name[i];
    if (c === 'o' && name.startsWith('operator', i) && !is_word(name[i - 1])) {
      OPERATOR.lastIndex = i;
      const match = OPERATOR.exec(name);
      if (match !== null) {
        i += match[0].length - 1;
        continue;
      }
    }
    if (c === '<' && name[i - 1] === ' ' && name[i + 1] === ' ') continue; // (8 < 9)
    if (CLOSER[c] !== undefined) open.push(CLOSER[c]);
    else if (c === '>' && (name[i - 1] === '-' || name[i - 1] === '=' || open[open.length - 1] !== '>')) continue;
    else if (c === '>' || c === ')' || c === ']' || c === '}') {
      if (open.pop() !== c) return -1;
      if (open.length === 0) return i;
    }
  }
  return -1;
}

// What a bracket at the top level is.
function kind_of(name, at, end) {
  const before = name[at - 1];
  const inside = name.slice(at + 1, end);
  if (name[at] === '{' || name[at] === '[' || inside === 'anonymous namespace' || before === '.') return 'word';
  if (name[at] === '(') return 'parameters';
  if (is_word(before) || before === ':' || before === ']' || (before === ' ' && at > 1)) return is_word(before) || name[end + 1] !== ':' ? 'arguments' : 'self';
  return name.startsWith('::', end + 1) ? 'self' : 'word';
}

// [{kind: text | word | arguments | parameters | self, text}...], or null.
function parts_of(name) {
  const parts = [];
  let text = '';
  const put = (kind, piece) => {
    if (text !== '') parts.push({ kind: 'text', text });
    text = '';
    if (piece !== '') parts.push({ kind, text: piece });
  };
  for (let at = 0; at < name.length; at++) {
    const c = name[at];
    if (c === 'o' && !is_word(name[at - 1]) && name.startsWith('operator', at) && !is_word(name[at + 8])) {
      OPERATOR.lastIndex = at;
      const match = OPERATOR.exec(name);
      // (operator new, operator unsigned long: all up to the parameters)
      const next = match === null ? name.indexOf('(', at) : at + match[0].length;
      put('word', name.slice(at, next < 0 ? name.length : next));
      at = (next < 0 ? name.length : next) - 1;
    } else if (CLOSER[c] !== undefined) {
      const end = close_of(name, at);
      // (A pointer to a function is returned: its name stands in the bracket.)
      if (end < 0 || (c === '(' && '*&'.includes(name[at + 1]) && name[at - 1] === ' ')) return null;
      put(kind_of(name, at, end), name.slice(at, end + 1));
      at = end;
    } else if (c === ')' || c === ']' || c === '}') return null;
    else text += c;
  }
  put('', '');
  return parts;
}

// Of brackets and what is in them: all <...> within that are longer than their mark.
function without_nested(text) {
  let out = '';
  for (let at = 0; at < text.length; at++) {
    const end = at > 0 && text[at] === '<' && is_word(text[at - 1]) && !/operator$/.test(text.slice(Math.max(0, at - 8), at)) ? close_of(text, at) : -1;
    if (end - at - 1 >= CONTENT_MIN) {
      out += '<…>';
      at = end;
    } else out += text[at];
  }
  return out;
}

const IN_BRACKETS = 1; // levels: what is left out, each with those before it
const PARAMETERS = 2;
const ARGUMENTS = 3;

function part_text({ kind, text }, level) {
  const long = text.length - 2 >= CONTENT_MIN;
  if (kind === 'text' || level === 0) return text;
  if (kind === 'parameters' && level >= PARAMETERS) return long ? '(…)' : text;
  if (kind === 'arguments' && level >= ARGUMENTS) return long ? '<…>' : text;
  if (kind === 'word' && text[0] === '{' && level >= PARAMETERS) return text.replace(/\((.{4,})\)/, '(…)');
  if (kind === 'word' && text.startsWith('operator ') && level >= ARGUMENTS) return text.replace(/<.{4,}>/, '<…>');
  return kind === 'word' && text[0] !== '{' ? text : without_nested(text);
}

const text_of = (parts, level) => parts.map((part) => part_text(part, level)).join('');

// {components: the qualified name, each a list of parts; returns: is there a type before it; tail}.
function components_of(parts) {
  let last = parts.length - 1;
  while (last >= 0 && parts[last].kind !== 'parameters' && !(parts[last].kind === 'text' && parts[last].text.includes('::'))) last--;
  const called = last >= 0 && parts[last].kind === 'parameters';
  const end = called ? last + 1 : parts.length;
  let components = [[]];
  let returns = false;
  for (let i = 0; i < end; i++) {
    const part = parts[i];
    if (part.kind !== 'text') {
      components[components.length - 1].push(part);
      continue;
    }
    // (A type that is returned stands before a blank; operator< has one before its arguments, and a name
    // without parameters may have any.)
    const text = parts[i + 1]?.kind === 'arguments' ? part.text.trimEnd() : part.text;
    const blank = called ? text.lastIndexOf(' ') : -1;
    if (blank >= 0) components = [[]];
    returns ||= blank >= 0;
    part.text.slice(blank + 1).split('::').forEach((word, k) => {
      if (k > 0) components.push([]);
      if (word !== '') components[components.length - 1].push({ kind: 'text', text: word });
    });
  }
  return { components, returns, tail: text_of(parts.slice(end), 0) };
}

// What ends before its arguments and parameters.
function bare(component) {
  const end = component.findIndex((part, i) => i > 0 && (part.kind === 'arguments' || part.kind === 'parameters'));
  const text = text_of(end < 0 ? component : component.slice(0, end), ARGUMENTS).trimEnd();
  return text.startsWith('operator ') ? text.replace(/<.*/, '') : text;
}

// Says nothing by itself: what it stands in belongs to it.
function leans(components, i) {
  const text = text_of(components[i], 0);
  if (text.startsWith('operator()')) return i > 0 && components[i - 1][0]?.text[0] === '{';
  return text === '' || /^([{<].*|h[0-9a-f]{16})$/.test(text);
}

const MODULE = ' (module)'; // behind the name of a module of Python: what it runs itself
const DOTTED = /^[A-Za-z_<][\w<>]*(\.[A-Za-z_<][\w<>]*)*$/;
const OF_COMPILER = /\.(cold|part|isra|constprop|lto_priv|llvm)$/;

// The same of a name of Python, `json.decoder.JSONDecoder.decode`, `json.decoder (module)`; null: it is none. Packages go
// from the outermost one on; what is in angle brackets (<locals>, <listcomp>) stays with what it is in.
function forms_of_python(name) {
  const of_module = name.endsWith(MODULE);
  const base = of_module ? name.slice(0, -MODULE.length) : name;
  const words = base.split('.');
  if (!DOTTED.test(base) || OF_COMPILER.test(base) || (words.length === 1 && !of_module)) return null;
  const forms = [name];
  for (let first = Math.max(1, words.length - COMPONENTS); first < words.length; first++) {
    if (words[first][0] !== '<') forms.push('….' + words.slice(first).join('.') + (of_module ? MODULE : ''));
  }
  const last = words.findLastIndex((word) => word[0] !== '<');
  forms.push(words.slice(Math.max(last, 0)).join('.'));
  return forms;
}

// The name, and ever shorter ones: the last is the last component.
export function shorter_forms(name) {
  const of_python = name.length > LONGEST ? null : forms_of_python(name);
  if (of_python !== null) return of_python;
  const parts = name[0] === '/' || name.length > LONGEST ? null : parts_of(name);
  if (parts === null || parts.length === 0 || (parts.length === 1 && !parts[0].text.includes('::'))) return [name];
  const forms = [name];
  const put = (form) => {
    if (form.length < forms[forms.length - 1].length) forms.push(form);
  };
  const { components, returns, tail } = components_of(parts);
  for (const level of [IN_BRACKETS, PARAMETERS, ARGUMENTS]) put(text_of(parts, level));
  const words = components.map((component) => text_of(component, ARGUMENTS));
  if (returns) put('… ' + words.join('::') + tail);
  const last = words.length - 1;
  let own = last;
  while (own > 0 && leans(components, own)) own--;
  for (let first = Math.max(1, own - COMPONENTS); first <= own; first++) put('…::' + words.slice(first).join('::') + tail);
  const call = own < last && words[last].startsWith('operator()');
  const shown = own === last ? [bare(components[last])] : [...words.slice(own, last), ...(call ? [] : [bare(components[last])])];
  put((own > 0 ? '…::' : '') + shown.join('::'));
  if (own === last) put(shown[0]);
  return forms;
}

// The longest form of at most `length` characters; where even the last component is longer, that one cut.
export function shorten(name, length) {
  if (name.length <= length) return name;
  const forms = shorter_forms(name);
  return forms.find((form) => form.length <= length) ?? cut(forms[forms.length - 1], length);
}
