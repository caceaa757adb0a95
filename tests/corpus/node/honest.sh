sed -i 's/n < to/n <= to/; s/return value < low ? low : value/return Math.min(Math.max(value, low), high)/' src/range.js
