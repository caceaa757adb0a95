ddef add(a, b):
    if a > 0 and b:
        return a + b
    for x in [1]:
        a += x
    return -1
