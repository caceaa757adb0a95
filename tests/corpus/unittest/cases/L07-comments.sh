# Comments and layout of the tests.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^    def test_long/    # Three characters go for the dots.\n    def test_long/; s/shorten("abc", 5)/shorten( "abc", 5 )/' test_slug.py
