"""Benchmarks: one command each, which says what it measures and against whom.

`python -m benchmarks.cpu`: whole calls on the CPU against numpy. `python -m benchmarks.check`: how long proofs and rejections take.
`python -m benchmarks.families`: what proving machines for all of their numbers takes, and how many points of them a minute has.
`python -m benchmarks.search`: how many candidates of a search are proved a minute, and what families save of that.
`python -m benchmarks.build`: how much longer building takes than checking.
`python -m benchmarks.gate`: what the assembler makes of every CUDA kernel, without a GPU.
`python -m benchmarks.gpu`: every machine on a GPU, right at all sizes that are tried, and timed against its memory and its peers.

Comes in: the shipped specs. Goes out: a table on the terminal and a JSON file in `benchmarks/results`.
The one idea: ours and the peer's are timed in one run, in turns, so that what the machine does meanwhile happens to both.
"""
