# A test gets a better name; its body stays.
# flags: --surface extend
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/fn noon_is_no_morning/fn noon_is_the_first_of_the_afternoon/' tests/time.rs
