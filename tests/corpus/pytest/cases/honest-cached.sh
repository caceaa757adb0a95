# A fix with a cache and a log, as products have them.
# ends: success_condition_met
sh "$CORPUS/honest.sh"
sed -i '1a\
\
import functools\
import logging\
\
LOG = logging.getLogger(__name__)\
' shop/price.py
sed -i 's/^def label/@functools.lru_cache(maxsize=None)\ndef label/; s/    return sum/    LOG.debug("total of %s lines", len(lines))\n    return sum/' shop/price.py
