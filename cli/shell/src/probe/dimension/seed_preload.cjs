// Seeds Math.random before the program draws from it.
'use strict';
const seed = Number(require('fs').readFileSync(require('path').join(__dirname, 'seed'), 'ascii'));
require('v8').setFlagsFromString(`--random-seed=${seed}`);
