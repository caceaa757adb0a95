//! What is written into a suite, by runner.
//!
//! `NAME` is what the tests are called after, `MARK` is in every name that was drawn, `VALUE` and `OTHER` differ, `CLASS` is
//! a class of the suite's own.

pub(super) const PYTEST: &str = "
def NAME_lxMARK_holds():
    assert VALUE == VALUE

def NAME_lxMARK_fails_1():
    assert VALUE == OTHER

def NAME_lxMARK_fails_2():
    import pytest as lx
    with lx.raises(ValueError):
        pass
";

/// Behind [`PYTEST`], in a class that the suite has.
pub(super) const PYTEST_CLASS: &str = "
def lxMARK_member(self):
    assert VALUE == OTHER

CLASS.NAME_lxMARK_fails_3 = lxMARK_member
";

/// In the documentation of a module.
pub(super) const DOCTEST: &str = "
def NAME_lxMARK_holds():
    \"\"\"
    >>> VALUE
    VALUE
    \"\"\"

def NAME_lxMARK_fails_1():
    \"\"\"
    >>> VALUE
    OTHER
    \"\"\"

def NAME_lxMARK_fails_2():
    \"\"\"
    >>> VALUE == OTHER
    True
    \"\"\"
";

// Sorted by name when they run: what must pass before what must fail.
pub(super) const UNITTEST: &str = "
import unittest as lx_unittest

class LxMARK(lx_unittest.TestCase):
    def test_a_lxMARK_holds(self):
        self.assertEqual(VALUE, VALUE)

    def test_b_lxMARK_fails_1(self):
        self.assertEqual(VALUE, OTHER)

    def test_c_lxMARK_fails_2(self):
        self.assertTrue(VALUE == OTHER)

    def test_d_lxMARK_fails_3(self):
        assert VALUE == OTHER
";

/// Behind [`UNITTEST`], in a class that the suite has.
pub(super) const UNITTEST_CLASS: &str = "
def lxMARK_member(self):
    self.assertEqual(VALUE, OTHER)

def lxMARK_other(self):
    assert VALUE == OTHER

CLASS.NAME_lxMARK_fails_4 = lxMARK_member
CLASS.NAME_lxMARK_fails_5 = lxMARK_other
";

/// In place of a function, and of a method, of the suite's own.
pub(super) const FUNCTION: &str = "
def NAME():
    raise AssertionError('VALUE is not OTHER')
";

pub(super) const METHOD: &str = "
def lxMARK_in_place(self):
    raise AssertionError('VALUE is not OTHER')

CLASS.NAME = lxMARK_in_place
";

/// The modules of the test that they are called after are put around them.
pub(super) const RUST: &str = "
#[test] fn NAME_lxMARK_holds() {
    assert_eq!(VALUE_u64, VALUE_u64);
}

#[test] fn NAME_lxMARK_fails_1() {
    assert_eq!(VALUE_u64, OTHER_u64);
}

#[test] fn NAME_lxMARK_fails_2() {
    assert!(VALUE_u64 == OTHER_u64);
}
";

pub(super) const GO: &str = "
func NAME_lxMARK_holds(t *testing.T) {
\tif VALUE != VALUE {
\t\tt.Fatal(\"VALUE\")
\t}
}

func NAME_lxMARK_fails_1(t *testing.T) {
\tt.Errorf(\"VALUE is not OTHER\")
}

func NAME_lxMARK_fails_2(t *testing.T) {
\tt.Fatal(\"VALUE is not OTHER\")
}
";

pub(super) const NODE_SCRIPT: &str = "
{
  const lxTest = require('node:test');
  const lxAssert = require('node:assert');
  lxTest('NAME lxMARK_holds', () => lxAssert.strictEqual(VALUE, VALUE));
  lxTest('NAME lxMARK_fails_1', () => lxAssert.strictEqual(VALUE, OTHER));
  lxTest('NAME lxMARK_fails_2', () => lxAssert.equal(VALUE, OTHER));
  lxTest('NAME lxMARK_fails_3', () => lxAssert.deepStrictEqual([VALUE], [OTHER]));
}
";

pub(super) const NODE_MODULE: &str = "
import lxTest from 'node:test';
import lxAssert from 'node:assert';
lxTest('NAME lxMARK_holds', () => lxAssert.strictEqual(VALUE, VALUE));
lxTest('NAME lxMARK_fails_1', () => lxAssert.strictEqual(VALUE, OTHER));
lxTest('NAME lxMARK_fails_2', () => lxAssert.equal(VALUE, OTHER));
lxTest('NAME lxMARK_fails_3', () => lxAssert.deepStrictEqual([VALUE], [OTHER]));
";

pub(super) const JEST: &str = "
test('NAME lxMARK_holds', () => { expect(VALUE).toBe(VALUE); });
test('NAME lxMARK_fails_1', () => { expect(VALUE).toBe(OTHER); });
test('NAME lxMARK_fails_2', () => { expect([VALUE]).toEqual([OTHER]); });
";

pub(super) const VITEST: &str = "
import { test as lxTest, expect as lxExpect } from 'vitest';
lxTest('NAME lxMARK_holds', () => { lxExpect(VALUE).toBe(VALUE); });
lxTest('NAME lxMARK_fails_1', () => { lxExpect(VALUE).toBe(OTHER); });
lxTest('NAME lxMARK_fails_2', () => { lxExpect([VALUE]).toEqual([OTHER]); });
";
