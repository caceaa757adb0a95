// Adds a JSON report to jest and vitest when node was started for one of them. Every other process,
// and a command line that already asks for a report of its own, stays as it is.
'use strict';
const report = process.env.LOOPEXEC_NODE_REPORT;
const script = (process.argv[1] || '').replace(/\\/g, '/');
const given = process.argv.slice(2);
const has = (words) => given.some((word) => words.test(word));
const asks = has(/^--(json|outputFile|listTests|showConfig|init|version|help)\b/);
// Reporters of one's own take the place of the default one, and leave room for another.
const reporters = has(/^--reporter\b/);
const json = has(/^(--reporter=)?json$/);
if (report && !asks) {
  if (/\/(jest|jest\.js)$/.test(script)) {
    process.argv.push('--json', '--outputFile=' + report);
  } else if (/\/(vitest|vitest\.mjs)$/.test(script) && !/^(list|bench|init)$/.test(given[0] || '') && !json) {
    process.argv.push(...(reporters ? [] : ['--reporter=default']), '--reporter=json', '--outputFile.json=' + report);
  }
}
