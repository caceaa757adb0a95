# Started by cargo in place of a test binary: runs the binary with its tests shuffled by a seed, or with one of them alone.
#
# Binaries with a harness of their own know none of these words and run as they are. So do examples in documentation,
# which have to be told the path that cargo would have told them without a runner.
#
# Words that are unstable are taken by libtest where RUSTC_BOOTSTRAP is set to anything; at -1 the compilers that tests
# start stay what they are.
here=${0%/*}
case $1 in
*/rustdoctest*)
    RUSTDOC_DOCTEST_BIN_PATH=$1
    export RUSTDOC_DOCTEST_BIN_PATH
    exec "$@"
    ;;
esac
grep -q -a -e shuffle-seed "$1" || exec "$@"
{
    IFS= read -r wanted
    IFS= read -r member
} <"$here/order"
case $wanted:" $* " in
alone:*" --exact "* | *:*shuffle*) exec "$@" ;;
esac
if [ "$wanted" = alone ]; then
    member=${member##* }
    # Other binaries hold other tests.
    if "$1" "$member" --exact --list 2>/dev/null | grep -q ': test$'; then : >"$here/order.seen"; fi
    exec "$@" "$member" --exact
fi
: >"$here/order.seen"
RUSTC_BOOTSTRAP=-1
export RUSTC_BOOTSTRAP
exec "$@" -Z unstable-options --shuffle-seed "$wanted"
