bclass CalcTest {
  @Test void adds() { assertEquals(3, Calc.add(1, 2)); }
  @ParameterizedTest @ValueSource(ints = {1, 2}) void f(int x) { assertTrue(x > 0); }
}
