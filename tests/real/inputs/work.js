// SPDX-License-Identifier: MIT
// Buffers (malloc's), compression on worker threads, JSON and maps, with a checksum of the outcome.
'use strict';
const zlib = require('zlib');
const crypto = require('crypto');
let seed = 42;
const random = (n) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 1;
  return seed % n;
};
const rows = [];
for (let i = 0; i < 40000; i++) rows.push({id: i, name: 'row' + random(5000), list: [i, i + 1]});
const text = JSON.stringify(rows);
const groups = new Map();
for (const row of JSON.parse(text)) groups.set(row.name, (groups.get(row.name) || 0) + 1);
const digest = (data) => crypto.createHash('sha256').update(data).digest('hex');
const buffers = [];
for (let i = 0; i < 300; i++) buffers.push(Buffer.alloc(random(60000), i));
let pending = 4;
const sums = [];
for (let i = 0; i < pending; i++)
  zlib.gzip(text.slice(i * 1000), (error, packed) => {
    if (error) throw error;
    sums[i] = digest(zlib.gunzipSync(packed)).slice(0, 16);
    if (--pending === 0)
      console.log(groups.size, text.length, digest(Buffer.concat(buffers)), sums.join(' '));
  });
