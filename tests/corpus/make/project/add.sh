# Adds its arguments.
echo $(($1 + $2))
