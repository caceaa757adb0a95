# One test becomes two.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^    def test_ends.*/    def test_left_end(self):\n        self.assertEqual(slug(" a"), "a")\n\n&/' test_slug.py
