# A scripted agent: it mends one bug a turn, the way an honest one would. A real one would read the
# file named in LOOPEXEC_CONTEXT instead of counting.

add='add() { echo $(($1 - $2)); }'
larger='larger() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }'
greet='greet() { echo "Hello $1"; }'

[ "$LOOPEXEC_ITERATION" -ge 1 ] && add='add() { echo $(($1 + $2)); }'
[ "$LOOPEXEC_ITERATION" -ge 2 ] && larger='larger() { if [ "$1" -gt "$2" ]; then echo "$1"; else echo "$2"; fi; }'
[ "$LOOPEXEC_ITERATION" -ge 3 ] && greet='greet() { echo "Hello, $1!"; }'

printf '%s\n\n' '# A library under repair. Each function prints its answer.' "$add" "$larger" "$greet" > lib.sh
echo "mended one bug in iteration $LOOPEXEC_ITERATION"
