"""A transformer block in torch: eager, by Inductor, and with proved operators in it: `python -m benchmarks.torch_block`.

Comes in: widths and lengths. Goes out: a table, and `benchmarks/results/torch_block.json`: the fastest turn of each way, and how far it is from eager. The one idea: all ways take
turns in one process, after each has been called, so what is compiled and what a host does beside are nobody's advantage.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
SIZES = ((64, 1, 33), (512, 2, 512), (768, 1, 1000))  # width, batch, length
TURNS = 15


def block(width: int) -> Any:
    """Norm, attention, norm, feed-forward; heads of 64."""
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.RMSNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            q, k, v = self.qkv(self.before(x)).view(batch, length, 3, width // 64, 64).permute(2, 0, 3, 1, 4)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.out(seen)
            return x + self.down(functional.gelu(self.up(self.after(x))))

    return Block()


def ways(width: int) -> dict[str, Callable[[Any], Any]]:
    """The ways to run one block, by name."""
    import torch

    from tinygpu.torch import compile_backend

    made = block(width)
    return {
        "eager": made,
        "inductor": torch.compile(made, fullgraph=True),
        "ours": torch.compile(made, backend=compile_backend, fullgraph=True),
        "ours, inductor": torch.compile(made, backend=compile_backend, fullgraph=True, options={"rest": "inductor"}),
    }


def main() -> int:
    import torch

    rows = []
    print(
        f"{'width, batch, length':22} {'eager ms':>9} {'inductor':>9} {'ours':>9} {'ours, inductor':>15} {'eager / ours':>13} {'furthest':>9}"
    )
    for width, batch, length in SIZES:
        x, best = torch.randn(batch, length, width), dict[str, float]()
        with torch.no_grad():
            torch._dynamo.reset()
            every = ways(width)
            away = max(float((call(x) - every["eager"](x)).abs().max()) for call in every.values())
            for _ in range(TURNS):
                for name, call in every.items():
                    start = time.perf_counter()
                    call(x)
                    best[name] = min(best.get(name, 1e9), (time.perf_counter() - start) * 1e3)
        times = " ".join(f"{best[name]:{15 if ',' in name else 9}.2f}" for name in every)
        print(f"{width:6},{batch:6},{length:8} {times} {best['eager'] / best['ours']:13.2f} {away:9.1e}")
        rows.append({"width": width, "batch": batch, "length": length, "ms": {name: round(t, 3) for name, t in best.items()}, "furthest from eager": away})  # fmt: skip
    result = {"date": time.strftime("%Y-%m-%d"), "command": "python -m benchmarks.torch_block", "torch": torch.__version__, "threads": torch.get_num_threads(), "rows": rows}  # fmt: skip
    (RESULTS / "torch_block.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
