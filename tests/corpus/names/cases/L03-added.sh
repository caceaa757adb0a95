# Another file of tests is added, under a name that nothing protects.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf 'from words.slug import slug\n\n\ndef test_one_word():\n    assert slug("one") == "one"\n' > more_checks.py
