"""What a program costs, counted from its index maps: bytes, sectors, conflicts, operations, occupancy, the bound of a device.

Comes in: a program, sizes, a device. Goes out: a `Cost`, its text, and notes. The one idea: index maps are finite and known, so nothing
is sampled and nothing is fitted: what is counted is what the threads do, and what is not known says so.
"""
