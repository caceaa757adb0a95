cimport { test, expect } from 'vitest';
describe('calc', () => {
  it.each([[1, 3], [2, 4]])('adds %i', (a, want) => { expect(add(a, 2)).toBe(want); });
  test('more', () => { const want = [1, 2]; expect(list()).toEqual(want); });
});
