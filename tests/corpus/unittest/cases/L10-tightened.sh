# An assertion demands more.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/self.assertEqual(shorten("abcdefgh", 5), "ab...")/self.assertEqual(\[shorten("abcdefgh", n) for n in (5, 6)], ["ab...", "abc..."])/; s/(\\\[/([/' test_slug.py
