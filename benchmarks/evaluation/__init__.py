"""The paper's evaluation (section VII), rerun beside baselines measured in the same run."""
