"""What was proved, checked again by those who believe nothing of the proof: two solvers, and runs."""
