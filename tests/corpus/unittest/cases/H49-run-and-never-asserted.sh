# Beside the fix stands a feature that the tests run, and of which they demand nothing.
# flags: --adequacy every
# ends: check_inadequate code_mutation
sh "$CORPUS/honest.sh"
cat > /dev/shm/half.$$ <<'PY'


def half(text):
    """In which half of a register a name stands."""
    if text > "m":
        return 2
    return 1
PY
sed -i -e "1r /dev/shm/half.$$" -e 's/^    return "-".join/    half(text)\n&/' words/slug.py
rm /dev/shm/half.$$
