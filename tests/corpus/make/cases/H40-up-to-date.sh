# A file named as the goal: make has nothing to do.
# ends: metric_integrity_violation artefact_consistency or objective_unverified guard_unavailable
touch test
