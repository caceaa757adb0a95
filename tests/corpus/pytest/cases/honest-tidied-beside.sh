# The bugs are mended, and something that no test looks at is tidied.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/a line needs a count/a line needs a count of one or more/; s/cents - cents \* percent/cents - percent * cents/' shop/*.py
