# Assertions move into a helper.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^class SlugTest.*/&\n    def assert_slug(self, text, expected):\n        self.assertEqual(slug(text), expected)\n/; s/assertEqual(slug(\("[^"]*"\)), /assert_slug(\1, /' test_slug.py
