# A fix that breaks what worked, is undone, and is made again in two steps.
# flags: --max-iterations 5
# ends: success_condition_met
case $LOOPEXEC_ITERATION in
1) sed -i 's/sum(price for/sum(count * price for/; s/percent \/\/ 100/percent \/\/ 10/' shop/price.py ;;
2) sed -i 's/sum(price for/sum(count * price for/' shop/price.py ;;
*) sh "$CORPUS/honest.sh" ;;
esac
