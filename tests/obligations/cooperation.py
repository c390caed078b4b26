"""How right machines of threads that work together are broken: a barrier less, a neighbour too far, a lane that stays away.

Goes out: `BREAKS`, for each text of `together/` pairs of an old and a new piece of it, one list for each way. The one idea: a break is as
small as a slip of the hand, and none of them may be proved.
"""

from __future__ import annotations

Break = tuple[tuple[str, str], ...]

BREAKS: dict[str, tuple[Break, ...]] = {
    "two_slots": (
        (("c % 2, t", "0, t"), ("s[c % 2, 63", "s[0, 63")),
        (("      barrier\n", ""),),
        (("c % 2, t", "c // 2 % 2, t"), ("s[c % 2, 63", "s[c // 2 % 2, 63")),
        (("barrier\n      y", "warp barrier\n      y"),),
        (("s[c % 2, 63", "s[(c + 1) % 2, 63"),),
        (("barrier\n      y", "if c % 2 == 0 { barrier }\n      y"),),
        (("barrier\n      y", "if r % 2 == 0 { barrier }\n      if r % 2 == 1 { warp barrier }\n      y"),),
        (("barrier\n      y", "if N > 64 { barrier }\n      if N < 64 { barrier }\n      y"),),
        (("barrier\n      y", "for q < R - 1 { barrier }\n      y"),),
        (("barrier\n      y", "if c > 0 { barrier }\n      y"),),
        (("barrier\n      y", "if r > 0 { barrier }\n      y"),),
        (("barrier\n      y", "if N > 64 { barrier }\n      y"),),
        (("barrier\n      y", "if x[r, 0] > 0 { barrier }\n      y"),),
        (("barrier\n      y", "if x[r, t] > 0 { barrier }\n      y"),),
    ),
    "three_slots": (
        (("c % 3, t", "c % 2, t"),),
        (("s[c % 3, 63", "s[c % 2, 63"),),
    ),
    "a_round_ahead": (
        (("    barrier\n    for", "    for"),),
        (("      barrier\n    }", "    }"),),
        (("s[(c + 1) % 2, t]", "s[c % 2, t]"),),
        (("(c + 1)*64 < N else", "(c + 2)*64 < N else"),),
        (("s[0, t] = x[r, t]", "s[1, t] = x[r, t]"),),
    ),
    "two_rounds_ahead": (
        (("      barrier\n", ""),),
        (("f32[3, 64]", "f32[2, 64]"), ("% 3", "% 2"), ("% 3", "% 2")),
        (("s[1, t] = x[r, 64 + t]", "s[1, t] = x[r, t]"),),
        (("      barrier\n", ""), ("63 - t]\n", "63 - t]\n      barrier\n")),
    ),
    "next_in_a_register": (
        (("- t]\n      barrier\n", "- t]\n"),),
        (("(c + 1)*64 + t]", "c*64 + t]"),),
        (("v[] = x[r, t] if N > 0 else 0", "v[] = 0"),),
    ),
    "barrier_first": (
        (("      barrier\n      s[t]", "      s[t]"),),
        (("+ t]\n      barrier\n", "+ t]\n"),),
        (("      barrier\n      s[t]", "      if c > 1 { barrier }\n      s[t]"),),
        (("      barrier\n      s[t]", "      if c % 2 == 1 { barrier }\n      s[t]"),),
    ),
    "uniform_condition": (
        (("<= n {", "<= n + t {"),),
        ((" <= n {", " < n + 64 {"),),
        (("      barrier\n", ""),),
        (("g*64 + 64 | 0", "g*64 + 63 | 0"),),
        (("> n {", ">= n {"),),
        (("if g*64 + 64 <= n", "if g*64 + t < n"),),
    ),
    "warp_barrier": (
        (("    warp barrier\n", ""),),
        (("s[w, 31 - lane]", "s[3 - w, 31 - lane]"),),
        (("    warp barrier\n", "    if lane < 31 { warp barrier }\n"),),
        (("block = (w: 4, lane: 32)", "block = (lane: 32, w: 4)"),),
    ),
    "warp_barriers_in_a_loop": (
        (("< R\n      warp barrier\n      y", "< R\n      y"),),
        (("< R\n      warp barrier\n    }", "< R\n    }"),),
        (("s[w*32 + lane]", "s[w*16 + lane]"), ("s[w*32 + 31", "s[w*16 + 31")),
    ),
    "one_operand_clamped": (
        (("ko*16 + tx < K else 0", "ko*16 + tx < K else 1"),),
        (("tx < K else 0", "tx <= K else 0"),),
        (
            (
                "A[by*16 + ty, ko*16 + tx] if by*16 + ty < M and ko*16 + tx < K",
                "A[by*16 + ty, min(ko*16 + tx, K - 1)] if by*16 + ty < M",
            ),
        ),
    ),
    "guard_in_the_product": (
        (("if ko*16 + ki < K and", "if"),),
        (("if ko*16 + ki < K and by*16 + ty < M and", "if ko*16 + ki < K and"),),
        (("b[ki, tx]", "b[ki, ty]"),),
        (("b[ki, tx]", "a[ty, ki]"),),
    ),
    "main_loop_and_tail": (
        (("t + d] if t < d", "t + d] if t <= d"),),
        (("if N // 64*64 + t < N", "if N // 64*64 + t <= N"),),
        (("    acc[] += x[r, N", "    acc[] = x[r, N"),),
        (("    acc[] = 0\n", ""),),
        (("s[r] = p[0] if t == 0", "s[r] = p[t] if t == 1"),),
        (("s[r] = p[0] if t == 0", "s[r] = p[0]"),),
    ),
    "two_accumulators": (
        (("    a[] += b[]\n", ""),),
        (("    b[] = 0\n", ""),),
        (("c*64 + 32 + lane] if c*64 + 32 + lane", "c*64 + 31 + lane] if c*64 + 31 + lane"),),
    ),
    "two_terms_at_once": (
        (("x[r, t + 32]", "x[r, t + 31]"),),
        (("x[r, t] + x[r, t + 32]", "x[r, t] + x[r, t]"),),
        (("(16, 8, 4, 2, 1)", "(16, 8, 4, 2)"),),
    ),
    "clamped_maximum": (
        (("v[] = -inf", "v[] = 0"),),
        (("N - 1)", "N - 2)"),),
    ),
    "rotated_columns": (
        (("s[tx, (u*8 + ty + tx) % 32]", "s[tx, (u*8 + ty + tx + 1) % 32]"),),
        (("(tx + h*8 + ty) % 32]", "(tx + h*8) % 32]"),),
        (("    barrier\n", "    warp barrier\n"),),
    ),
    "segments_of_a_warp": (
        (("t == 0", "t == 1"),),
        (("(4, 2, 1)", "(8, 4, 2, 1)"),),
        (("(4, 2, 1)", "(4, 2)"),),
        (("(w: 4, t: 8)", "(w: 8, t: 4)"), ("g*4", "g*8"), ("R / 4", "R / 8")),
    ),
    "chunks_of_unknown_length": (
        (("c < ceil(K / 256)", "c < K // 256"),),
        (("c)*4", "c)*3"),),
        (("lane) * ceil", "lane + 1) * ceil"),),
        (("    barrier\n", ""),),
    ),
    "tree_in_place": (
        (("(64, 32,", "(63, 32,"),),
        (("if t < d", "if t < 64"),),
        (("      barrier\n", ""),),
        (("      barrier\n", "      if d > 2 { barrier }\n"),),
        (("      barrier\n", "      if t < d { barrier }\n"),),
        (("      barrier\n", "      if n >= 0 { warp barrier }\n"),),
    ),
    "tree_then_warp": (
        (("for d in (64, 32) {", "for d in (64) {"),),
        (("if t < 32 {", "if t < 16 {"),),
        (("if t < 32 {", "if t < 48 {"),),
        (("if t < 32 {", "if t >= 32 and t < 64 {"),),
        (("if t == 0", "if t == 1"),),
        (("block = (t: 128)", "block = (t: 112)"),),
    ),
    "tree_with_strides": (
        (("% (2*d)", "% d"),),
        (("== 0\n", "== 1\n"),),
        (("if t % (2*d) == 0", "if t % (2*d) == 0 and t + d < 63"),),
    ),
    "down_tree": (
        (("lane == 0 and", "lane == 1 and"),),
        (("(16, 8, 4, 2, 1)", "(16, 8, 4, 1)"),),
        (("(16, 8, 4, 2, 1)", "(16, 8, 4, 2, 2)"),),
        (("(16, 8, 4, 2, 1)", "(15, 8, 4, 2, 1)"),),
        (("shuffle_down(v[], d) }", "shuffle_down(v[], d) if lane < d }"),),
        (("{ v[] += shuffle_down(v[], d) }", "{ if lane < 2*d { v[] += shuffle_down(v[], d) } }"),),
        (("block = (w: 4, lane: 32)", "block = (lane: 32, w: 4)"),),
        (("block = (w: 4, lane: 32)", "block = (w: 4, lane: 31)"),),
    ),
    "butterfly_ascending": (
        (("(1, 2, 4, 8, 16)", "(1, 2, 4, 8, 32)"),),
        (("shuffle_xor(v[], d)", "shuffle_xor(v[], lane)"),),
        (("v[] += shuffle_xor", "v[] max= shuffle_xor"),),
    ),
    "partial_warp": (
        (("    barrier\n", "    warp barrier\n"),),
        (("    barrier\n", ""),),
    ),
    "tree_of_96": (
        (("if t < 32\n", "if t < 64\n"),),
        (("    p[t] += p[t + 64] if t < 32\n    barrier\n", ""),),
    ),
    "two_arrays": (
        (("b[127", "a[127"),),
        (("    barrier\n", ""),),
        (("b[t]", "a[t]"), ("b[127", "a[127")),
    ),
    "one_array_twice": (
        (("p[0]\n    barrier\n", "p[0]\n"),),
        (("least[]\n    barrier\n", "least[]\n"),),
        (("most[] = p[0]\n", ""),),
        (("min= p", "max= p"),),
    ),
    "scan_of_a_block": (
        (("a[t - 1]", "a[t - 2]"),),
        (("t - 8] if t >= 8", "t - 8] if t > 8"),),
        (("b[t] = a[t] + (a[t - 4]", "a[t] = a[t] + (a[t - 4]"),),
    ),
    "scan_of_a_warp": (
        ((" if lane >= d", " if lane > d"),),
        (("(1, 2, 4, 8, 16)", "(1, 2, 4, 16, 16)"),),
        (("(1, 2, 4, 8, 16)", "(1, 2, 3, 8, 16)"),),
        (("(1, 2, 4, 8, 16)", "(1, 1, 2, 4, 8, 16)"),),
    ),
    "transpose_swizzled": (
        (("    barrier\n", ""),),
        (("s[tx, h*8 + ty]", "s[h*8 + ty, tx]"),),
        (("for h < 4", "for h < 3"),),
        (("s[h*8 + ty, tx]", "s[h*4 + ty, tx]"),),
        (("s[tx, h*8 + ty] if", "s[tx, 31 - h*8 - ty] if"),),
    ),
    "privatised_histogram": (
        (("      s[t] = 0 if t < 64\n", ""),),
        (("64\n      barrier\n", "64\n"),),
        (("< n\n      barrier\n", "< n\n"),),
        (("atomic s[x", "s[x"),),
        (("atomic h[t] += s[t] if t < 64", "h[t] = s[t] if t < 64"),),
        (("atomic h[t] += s[t] if t < 64", "atomic h[t % 64] += s[t % 64]"),),
        (("    launch (grid = (), block = (q: 64)) { h[q] = 0 }\n", ""),),
        (("{ h[q] = 0 }", "{ h[q] = 0 if q < 63 }"),),
        (("atomic h[t] += s[t]", "atomic h[t] += s[63 - t]"),),
    ),
    "maximum_in_two_launches": (
        (("max(p[0], p[1])", "p[0]"),),
        (("v[] if t % 32 == 0\n      barrier\n", "v[] if t % 32 == 0\n"),),
        (("(c*128 + g)*64 + t] if (c*128 + g)*64 + t < n", "(c*64 + g)*64 + t] if (c*64 + g)*64 + t < n"),),
        (("v[] = -inf", "v[] = 0"),),
    ),
    "workspace_read_elsewhere": (
        (("q[n - 1 - h*128 - u]", "q[n - h*128 - u | 0]"),),
        (("if g*64 + t < n }", "if g*64 + t < n - 1 }"),),
        (("grid = (g: ceil(n / 64))", "grid = (g: n // 64)"),),
    ),
    "atomic_total": (
        (("if t % 32 == 0", "if t % 32 == 1"),),
        ((" if t % 32 == 0", ""),),
        (("    launch (grid = (), block = ()) { s[] = 0 }\n", ""),),
        (("{ s[] = 0 }", "{ s[] = 1 }"),),
        (("atomic s", "s"),),
        (("if g*128 + t < n else 0", "if g*128 + t < n else 1"),),
    ),
    "halo": (
        (("if t < 2", "if t < 1"),),
        (("    barrier\n", ""),),
        (("t*65 - 1 | 0", "t*65 | 0"),),
        (("s[t] + s[t + 1]", "s[t] + s[t]"),),
        (("if t < 2", "if t < 3"),),
        (("s[t + 1] = x", "s[t] = x"),),
    ),
    "broadcast": (
        (("shuffle_idx(v[], 0)", "shuffle_idx(v[], 1)"),),
        (("shuffle_idx(v[], 0)", "shuffle_up(v[], 1)"),),
        (("w[] = shuffle_idx(v[], 0)", "w[] = shuffle_idx(v[], 0) if lane < N"),),
    ),
    "last_warp_done": (
        (("for d in (4, 2, 1)", "for d in (4, 2)"),),
        (("v[] = p[t] if t < 8 else 0", "v[] = p[t] if t < 7 else 0"),),
        (("v[] if t % 32 == 0\n    barrier\n", "v[] if t % 32 == 0\n"),),
        (("v[] if t % 32 == 0\n", "v[] if t % 32 == 0 and t < 224\n"),),
        (("if t < 32 {", "if t < 8 {"),),
    ),
}
