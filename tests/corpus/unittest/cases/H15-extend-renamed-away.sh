# Tests get names that are not collected, where tests may change; the bugs are mended.
# flags: --surface extend
# ends: metric_integrity_violation kill_set
sh "$CORPUS/honest.sh"
sed -i 's/def test_\(many\|ends\|long\|lower\)/def check_\1/' test_slug.py
