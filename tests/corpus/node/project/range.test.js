'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { range, clamp } = require('./src/range.js');

test('both ends belong to it', () => {
  assert.deepStrictEqual(range(1, 3), [1, 2, 3]);
});

test('one number', () => {
  assert.deepStrictEqual(range(4, 4), [4]);
});

test('nothing between', () => {
  assert.deepStrictEqual(range(5, 4), []);
});

test('clamp', async (t) => {
  await t.test('low', () => assert.strictEqual(clamp(-1, 0, 9), 0));
  await t.test('high', () => assert.strictEqual(clamp(12, 0, 9), 9));
  await t.test('within', () => assert.strictEqual(clamp(5, 0, 9), 5));
});
