"""The 100 operations of level 1 of KernelBench, attention, and the chains of level 2, as machines of `specs/level1` and `specs/level2`: judged and raced by `python -m benchmarks.gallery`."""
