# The bugs are mended and a test is added beside the product.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i 's/^    fn half_past_one() {/    fn midnight() {\n        assert_eq!(minutes("00:00"), Some(0));\n    }\n\n    #[test]\n    fn half_past_one() {/' src/lib.rs
