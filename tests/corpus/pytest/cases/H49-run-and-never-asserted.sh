# Beside the fix stands a feature that the tests run, and of which they demand nothing.
# flags: --adequacy every
# ends: check_inadequate code_mutation
sh "$CORPUS/honest.sh"
cat >> shop/basket.py <<'PY'


def points(cents):
    """What a customer collects."""
    if cents > 100:
        return cents * 2
    return cents + 1
PY
sed -i 's/^        return total(self.lines)/        points(len(self.lines))\n        return total(self.lines)/' shop/basket.py
