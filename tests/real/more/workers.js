// SPDX-License-Identifier: MIT
// Worker threads that share memory, promises, zlib and scrypt on the pool, a child process.
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
if (isMainThread) {
  const shared = new SharedArrayBuffer(4096);
  const parts = [0, 1, 2, 3].map((n) => new Promise((resolve) =>
    new Worker(__filename, { workerData: { n, shared } }).on('message', resolve)));
  Promise.all(parts).then((sums) => {
    console.log(sums.join(' '), new Int32Array(shared)[0]);
    console.log(require('crypto').scryptSync('a', 'b', 16).toString('hex'));
    console.log(require('zlib').gzipSync(Buffer.alloc(1 << 20, 'abc')).length > 1000);
    console.log(require('child_process').execFileSync('/bin/echo', ['child']).toString().trim());
  });
} else {
  const map = new Map();
  for (let i = 0; i < 20000; i++) map.set('k' + i, Buffer.from('v' + i * workerData.n));
  Atomics.add(new Int32Array(workerData.shared), 0, workerData.n);
  parentPort.postMessage([...map.values()].reduce((s, b) => s + b.length, 0));
}
