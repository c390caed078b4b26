"""What was proved, checked again by what believes nothing of the proof: runs."""
