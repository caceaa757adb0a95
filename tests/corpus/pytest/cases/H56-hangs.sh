# The product never ends.
# flags: --check-timeout 3s
# ends: execution_failure check_deadline_exceeded
sed -i 's/    return sum.*/    while True: pass/' shop/price.py
