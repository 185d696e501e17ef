"""The GPT of `jrun bench ddp` in PyTorch: DistributedDataParallel or FSDP2 over Gloo, one thread a rank.

Start with: python3 -m torch.distributed.run --nproc-per-node=2 ddp_gloo.py [options]
Prints one JSON object: medianMillis and minMillis of the slowest rank's steps. With --losses it prints the mean loss of
all ranks in each step instead. worker-runtime/bench/src/test/resources/io/jrun/bench/ddp-losses.txt keeps such losses.
"""
import argparse
import json
import math
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

V, S, D, HEADS, FF, LAYERS, BATCH = 1000, 64, 256, 4, 1024, 4, 8
PRIME, FIRST_TOKEN_STREAM = 2**31 - 1, 1000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.fc, self.out = nn.Linear(D, FF), nn.Linear(FF, D)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, s, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, s, d))
        return x + self.out(F.gelu(self.fc(self.n2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(S, D)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln, self.head = nn.LayerNorm(D), nn.Linear(D, V)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def fractions(stream, count):
    """BenchData.fractions: float64 numbers from 0 to 1 by a formula of integers."""
    i = torch.arange(count)
    mixed = ((i * i) % PRIME * 48271 + i * 16807 + (stream + 1) * 69621) % PRIME
    return mixed.double() / PRIME


def fill(model):
    with torch.no_grad():
        for stream, (name, p) in enumerate(model.named_parameters()):
            centred = (fractions(stream, p.numel()) - 0.5).float().view_as(p)
            if p.dim() == 2:
                p.copy_(centred * (2 / math.sqrt(p.shape[1])))
            else:
                p.copy_(centred * 0.02 + (1 if name.endswith("weight") else 0))


def batch(step, rank, ranks):
    x = (fractions(FIRST_TOKEN_STREAM + step * ranks + rank, BATCH * S) * V).long().view(BATCH, S)
    return x, (x * 31 + 7) % V


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--optimizer", choices=["sgd", "adamw", "fused"], default="sgd")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--parallel", choices=["ddp", "fsdp"], default="ddp")
    parser.add_argument("--losses", action="store_true", help="print losses instead of times")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    module = Gpt()
    fill(module)
    if args.parallel == "ddp":
        model = nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)
    else:
        from torch.distributed.fsdp import fully_shard
        mesh = dist.init_device_mesh("cpu", (ranks,))
        for block in module.blocks:
            fully_shard(block, mesh=mesh)
        model = fully_shard(module, mesh=mesh)
    if args.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    else:
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=1e-3, weight_decay=0.01, fused=args.optimizer == "fused")
    x, y = batch(0, rank, ranks)
    times = []
    for step in range(args.steps if args.losses else args.steps + 5):
        if args.losses:
            x, y = batch(step, rank, ranks)
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            loss = F.cross_entropy(model(x).view(-1, V), y.view(-1))
        loss.backward()
        optimizer.step()
        if step >= 5:
            times.append((time.perf_counter() - start) * 1e3)
        if args.losses:
            mean = loss.detach().double()
            dist.all_reduce(mean)
            if rank == 0:
                print(step + 1, repr(mean.item() / ranks), flush=True)
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if rank == 0 and not args.losses:
        slowest = slowest.sort().values
        print(json.dumps({
            "mode": "torch-" + torch.__version__ + ("" if args.parallel == "ddp" else "-fsdp2"),
            "medianMillis": round(slowest.median().item(), 3),
            "minMillis": round(slowest[0].item(), 3),
        }), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch 2.13 sometimes aborts when its threads are destroyed at the end
