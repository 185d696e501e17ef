"""The GPT of `jrun bench ddp --mode pp` by torch.distributed.pipelining over Gloo.

1F1B with 8 micro-batches, and one thread for each rank.

Start with: python3 -m torch.distributed.run --nproc-per-node=2 pipeline_gloo.py [options]
Prints one JSON object: medianMillis and minMillis of the slowest rank's steps.
"""
import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

import ddp_gloo as peer

MICRO_BATCHES = 8


class Stage(nn.Module):
    """Half of the layers: embedding and blocks, or blocks and head."""

    def __init__(self, model, rank, precision):
        super().__init__()
        self.precision = precision
        half = peer.LAYERS // 2
        self.tok, self.pos = (model.tok, model.pos) if rank == 0 else (None, None)
        self.blocks = model.blocks[:half] if rank == 0 else model.blocks[half:]
        self.ln, self.head = (None, None) if rank == 0 else (model.ln, model.head)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bf16"):
            if self.tok is not None:
                x = self.tok(x) + self.pos(torch.arange(x.shape[1]))
            for block in self.blocks:
                x = block(x)
            return x if self.head is None else self.head(self.ln(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--optimizer", choices=["sgd", "adamw", "fused"], default="sgd")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    whole = peer.Gpt()
    peer.fill(whole)
    module = Stage(whole, rank, args.precision)
    if args.optimizer == "sgd":
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    else:
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=0.01, fused=args.optimizer == "fused")
    batches = [peer.batch(0, r, ranks) for r in range(ranks)]
    x, y = torch.cat([b[0] for b in batches]), torch.cat([b[1] for b in batches])
    stage = PipelineStage(module, rank, ranks, torch.device("cpu"))
    schedule = Schedule1F1B(
        stage, MICRO_BATCHES, loss_fn=lambda out, target: F.cross_entropy(out.view(-1, peer.V), target.reshape(-1)))
    times = []
    for step in range(args.steps + 5):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=y, losses=[])
        optimizer.step()
        if step >= 5:
            times.append((time.perf_counter() - start) * 1e3)
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if rank == 0:
        slowest = slowest.sort().values
        print(json.dumps({
            "mode": "torch-pp-" + torch.__version__,
            "medianMillis": round(slowest.median().item(), 3),
            "minMillis": round(slowest[0].item(), 3),
        }), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch 2.13 sometimes aborts when its threads are destroyed at the end
