"""The GPT of `jrun bench ddp --mode tp` by torch's DTensor over Gloo.

The ranks share the blocks. Each rank has a head of its own, and one thread.

Start with: python3 -m torch.distributed.run --nproc-per-node=2 tensor_gloo.py [options]
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
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import ddp_gloo as peer


class Block(nn.Module):
    """The block of ddp_gloo with separate layers for queries, keys and values.

    DTensor would cut a joint layer across heads.
    """

    def __init__(self, whole, ranks):
        super().__init__()
        self.n1, self.n2 = whole.n1, whole.n2
        self.heads = peer.HEADS // ranks
        self.q, self.k, self.v = (nn.Linear(peer.D, peer.D) for _ in range(3))
        with torch.no_grad():
            for i, layer in enumerate((self.q, self.k, self.v)):
                layer.weight.copy_(whole.qkv.weight[i * peer.D:(i + 1) * peer.D])
                layer.bias.copy_(whole.qkv.bias[i * peer.D:(i + 1) * peer.D])
        self.proj, self.fc, self.out = whole.proj, whole.fc, whole.out

    def forward(self, x):
        b, s, d = x.shape
        y = self.n1(x)
        q, k, v = (f(y).view(b, s, self.heads, d // peer.HEADS).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, s, -1))
        return x + self.out(F.gelu(self.fc(self.n2(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--optimizer", choices=["sgd", "adamw", "fused"], default="sgd")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    model = peer.Gpt()
    peer.fill(model)
    model.blocks = nn.ModuleList(Block(block, ranks) for block in model.blocks)
    mesh = init_device_mesh("cpu", (ranks,))
    column, row = ColwiseParallel(), RowwiseParallel()
    plan = {"q": column, "k": column, "v": column, "proj": row, "fc": column, "out": row}
    for block in model.blocks:
        parallelize_module(block, mesh, plan)
    if args.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    else:  # the fused kernel does not mix DTensors and tensors in one group
        shared = [p for block in model.blocks for n, p in block.named_parameters() if not n.startswith("n")]
        names = {id(p) for p in shared}
        rest = [p for p in model.parameters() if id(p) not in names]
        optimizer = torch.optim.AdamW(
            [{"params": shared}, {"params": rest}], lr=1e-3, weight_decay=0.01, fused=args.optimizer == "fused")
    batches = [peer.batch(0, r, ranks) for r in range(ranks)]
    x, y = torch.cat([b[0] for b in batches]), torch.cat([b[1] for b in batches])
    times = []
    for step in range(args.steps + 5):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bf16"):
            loss = F.cross_entropy(model(x).view(-1, peer.V), y.view(-1))
        loss.backward()
        optimizer.step()
        if step >= 5:
            times.append((time.perf_counter() - start) * 1e3)
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if rank == 0:
        slowest = slowest.sort().values
        print(json.dumps({
            "mode": "torch-tp-" + torch.__version__,
            "medianMillis": round(slowest.median().item(), 3),
            "minMillis": round(slowest[0].item(), 3),
        }), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # torch 2.13 sometimes aborts when its threads are destroyed at the end
