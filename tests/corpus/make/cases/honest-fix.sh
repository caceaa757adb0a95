# The bug is mended.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
