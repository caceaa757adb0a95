# Three tests become one.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i '/def test_lower/,/(" a b "/d' test_slug.py
sed -i 's/^class SlugTest.*/&\n    def test_slug(self):\n        for text, expected in [("Hello World", "hello-world"), ("a   b", "a-b"), (" a b ", "a-b")]:\n            with self.subTest(text):\n                self.assertEqual(slug(text), expected)/' test_slug.py
