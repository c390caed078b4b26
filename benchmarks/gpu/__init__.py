"""The benchmark on a GPU, in parts: the device, what is made ready, ceilings, correctness, times, the host's share, and the table.

Comes in: a GPU, and of torch, Triton and CuPy what is installed. Goes out: rows for a table and a JSON file. The one idea: every part writes
what it has before the next begins, and a clock says what there is time for.
"""
