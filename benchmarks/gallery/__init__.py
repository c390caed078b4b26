"""The 100 operations of level 1 of KernelBench, and attention, as machines of `specs/level1`: judged and raced by `python -m benchmarks.gallery`."""
