# The bugs are mended.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
