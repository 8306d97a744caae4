// SPDX-License-Identifier: MIT
// Reads a DHAT file by valgrind's own viewer: node export_dhat.js dh_view.js FILE. Prints the root of the
// tree that the viewer builds as JSON; what the viewer refuses is an error. Of the page it gets as much
// as that takes.
"use strict";
const fs = require("fs");
const vm = require("vm");

const element = () => ({ appendChild() {}, childNodes: [], style: {} });
const page = { document: { createElement: element, body: element() }, Intl, console };
vm.createContext(page);
vm.runInContext(fs.readFileSync(process.argv[2], "utf8"), page);
page.text = fs.readFileSync(process.argv[3], "utf8");
vm.runInContext(`
  gSelect = { selectedIndex: 0, childNodes: gSelectData.map(() => ({})) };
  gData = JSON.parse(text);
  buildTree();
  answer = JSON.stringify({ tb: gRoot._totalBytes, tbk: gRoot._totalBlocks,
    gb: gRoot._atTGmaxBytes, gbk: gRoot._atTGmaxBlocks, eb: gRoot._atTEndBytes,
    ebk: gRoot._atTEndBlocks });`, page);
console.log(page.answer);
