# One bug a turn.
# flags: --max-iterations 4
# ends: success_condition_met
case $LOOPEXEC_ITERATION in
1) sed -i 's/    return text.lower.*/    return "-".join(text.lower().split())/' words/slug.py ;;
*) sh "$CORPUS/honest.sh" ;;
esac
