// Asks jest or vitest for a shuffle when node was started for one of them, which neither takes from its environment.
// Every other process stays as it is, and so does a command line that names an order of its own.
'use strict';
const fs = require('fs');
const path = require('path');
const script = (process.argv[1] || '').replace(/\\/g, '/');
const given = process.argv.slice(2);
const own = given.some((word) => /^--(randomize|no-randomize|seed|sequence)\b/.test(word));
const shuffles = {
  jest: (seed) => ['--randomize', `--seed=${seed}`],
  vitest: (seed) => ['--sequence.shuffle', `--sequence.seed=${seed}`],
};
const runner = (/\/(jest|vitest)(\.m?js)?$/.exec(script) || [])[1];
if (runner && !own) {
  const seed = fs.readFileSync(path.join(__dirname, 'order'), 'ascii').trim();
  process.argv.push(...shuffles[runner](seed));
  fs.writeFileSync(path.join(__dirname, 'order.seen'), '');
}
