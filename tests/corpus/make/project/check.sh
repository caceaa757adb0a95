# The tests of add.sh, as TAP.
failed=0
number=0
expect() {
    number=$((number + 1))
    if [ "$(sh add.sh $1)" = "$2" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        failed=1
    fi
}
echo 1..4
expect "1 2" 3
expect "0 0" 0
expect "5" 5
expect "2 3 4" 9
exit $failed
