# The check: three tests over lib.sh, reported as TAP. It decides, and the agent may not touch it.

. ./lib.sh

failed=0
number=0

is() { # name, answer, expected
    number=$((number + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $number - $1"
    else
        failed=1
        echo "not ok $number - $1"
        echo "# got '$2', expected '$3'"
    fi
}

echo "1..3"
is "add adds" "$(add 2 3)" "5"
is "larger gives the larger one" "$(larger 2 3)" "3"
is "greet greets politely" "$(greet Ada)" "Hello, Ada!"
exit $failed
