# The bugs are mended, and something that no test looks at is added.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^\/\/\/ Whether it is noon.*/\/\/\/ Hours of a day.\npub const HOURS: u32 = 24;\n\n&/' src/lib.rs
