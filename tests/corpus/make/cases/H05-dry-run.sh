# make prints its recipes and runs none.
# ends: metric_integrity_violation artefact_consistency protected_manifest
sed -i '1i MAKEFLAGS += -n' Makefile
