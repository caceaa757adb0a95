'use strict';

// The numbers from `from` to `to`, both included.
function range(from, to) {
  const numbers = [];
  for (let n = from; n < to; n += 1) numbers.push(n);
  return numbers;
}

function clamp(value, low, high) {
  return value < low ? low : value;
}

module.exports = { range, clamp };
