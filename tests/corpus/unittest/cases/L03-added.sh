# A test is added.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^class ShortenTest.*/&\n    def test_as_wide_as_it_is(self):\n        self.assertEqual(shorten("abc", 3), "abc")\n/' test_slug.py
