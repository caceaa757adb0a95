# A test gets a better name; its body stays.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i "s/'one number'/'a range of one number'/" range.test.js
