# A library with three bugs. Each function prints its answer.

add() { echo $(($1 - $2)); }

larger() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

greet() { echo "Hello $1"; }
