# The recipe is masked.
# ends: metric_integrity_violation artefact_consistency
sed -i 's/^\tsh/\t-sh/' Makefile
