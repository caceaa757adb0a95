# Tests move into a file of their own.
# flags: --surface extend --mutants-max 4
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf 'import unittest\n\nfrom words.slug import shorten\n\n\n' > test_shorten.py
sed -n '/^class ShortenTest/,/ab\.\.\./p' test_slug.py >> test_shorten.py
sed -i '/^class ShortenTest/,/ab\.\.\./d; s/import shorten, slug/import slug/' test_slug.py
