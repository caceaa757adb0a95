gexport const add = (a: number, b: number): number => a + b;
if (import.meta.vitest) {
  const { it, expect } = import.meta.vitest;
  it('adds', () => { expect(add(1, 2)).toBe(3); });
}
