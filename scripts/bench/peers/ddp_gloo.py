"""The GPT of `jrun bench ddp` in PyTorch: DistributedDataParallel over Gloo, one thread a rank.

Start with: python3 -m torch.distributed.run --nproc-per-node=2 ddp_gloo.py [steps]
Prints one JSON object: medianMillis and minMillis of the slowest rank's steps.
"""
import json
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

V, S, D, HEADS, FF, LAYERS, BATCH = 1000, 64, 256, 4, 1024, 4, 8


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


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(Gpt(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(100 + dist.get_rank())
    x, y = torch.randint(V, (BATCH, S)), torch.randint(V, (BATCH, S))
    times = []
    for step in range(steps + 5):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).view(-1, V), y.view(-1))
        loss.backward()
        optimizer.step()
        if step >= 5:
            times.append((time.perf_counter() - start) * 1e3)
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        slowest = slowest.sort().values
        print(json.dumps({
            "mode": "torch-" + torch.__version__,
            "medianMillis": round(slowest.median().item(), 3),
            "minMillis": round(slowest[0].item(), 3),
        }), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
