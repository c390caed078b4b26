"""From claims to a verdict: proved, refuted with a replayed counterexample, or unknown."""
