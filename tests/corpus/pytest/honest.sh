sed -i 's/sum(price for/sum(count * price for/; s/{cents % 100}"/{cents % 100:02}"/' shop/price.py
