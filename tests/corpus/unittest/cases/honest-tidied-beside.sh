# The bugs are mended, and a guard that no test looks at is added.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
printf '\n\ndef words(text):\n    """How many words a name has."""\n    return len(text.split("-"))\n' >> words/slug.py
