"""The measurements of io.jrun.bench.gpu.GpuTimes in Python's torch, on the same GPU: same model, tokens and optimizer.
Prints lines 'RESULT NAME NUMBER'.

python3 gpu_gpt.py calls
python3 gpu_gpt.py step [--batch=N] [--steps=N] [--precision=bf16|f32|tf32] [--mode=none|ddp] [--clip]
"""
import argparse
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

p = argparse.ArgumentParser()
p.add_argument("what", choices=["calls", "step"])
p.add_argument("--batch", type=int, default=8)
p.add_argument("--steps", type=int, default=25)
p.add_argument("--precision", default="bf16")
p.add_argument("--mode", default="none")
p.add_argument("--clip", action=argparse.BooleanOptionalAction, default=False)
p.add_argument("--device", default="cuda:0", help="cpu: to test this program without a GPU")
for name, standard in dict(layers=12, width=768, heads=12, vocab=50304, context=1024, warmup=60).items():
    p.add_argument("--" + name, type=int, default=standard)
a = p.parse_args()
dev = torch.device(a.device)
sync = torch.cuda.synchronize if dev.type == "cuda" else (lambda: None)


def result(name, value):
    print("RESULT", name, value, flush=True)


def calls():
    side = 8192 if dev.type == "cuda" else 64
    m = torch.randn(side, side, device=dev, dtype=torch.bfloat16)
    k = torch.randn(side, side, device=dev, dtype=torch.bfloat16)
    for _ in range(3):
        m @ k
    sync()
    begin = time.perf_counter()
    for _ in range(10):
        m @ k
    sync()
    result("tflops", 2 * side**3 * 10 / (time.perf_counter() - begin) / 1e12)
    x = torch.ones(1, device=dev)
    with torch.no_grad():
        bursts = []
        for _ in range(60):  # bursts that fit the driver's queue
            sync()
            begin = time.perf_counter()
            for _ in range(500):
                x.add_(1.0)
            bursts.append((time.perf_counter() - begin) / 500 * 1e6)
    result("add_us", sorted(bursts)[30])


class Conv1D(nn.Module):  # GPT-2's linear layer: a weight of [inputs, outputs]
    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(i, o)), nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        d = a.width
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.c_attn, self.attn_proj = Conv1D(d, 3 * d), Conv1D(d, d)
        self.c_fc, self.mlp_proj = Conv1D(d, 4 * d), Conv1D(4 * d, d)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).view(b, s, 3, a.heads, d // a.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, s, d)
        x = x + self.attn_proj(y)
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(a.vocab, a.width), nn.Embedding(a.context, a.width)
        self.h = nn.ModuleList(Block() for _ in range(a.layers))
        self.ln_f = nn.LayerNorm(a.width)
        for n, q in self.named_parameters():
            if q.dim() > 1:
                nn.init.normal_(q, std=0.02 / ((2 * a.layers) ** 0.5 if "proj" in n else 1))

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in self.h:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.reshape(-1, a.vocab), targets.reshape(-1))


def step():
    if a.precision == "tf32":
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    model = Gpt().to(dev)
    params = list(model.parameters())
    prime = 2**31 - 1
    i = torch.arange(a.batch * a.context)
    x = ((i * i % prime * 48271 + i * 16807 + 1001 * 69621) % prime).double() / prime * a.vocab
    x = x.long().view(a.batch, a.context).to(dev)
    y = (x * 31 + 7) % a.vocab
    net = model
    if a.mode == "ddp":
        import torch.distributed as dist

        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ["MASTER_PORT"] = "29517"  # jrun's variables name the port of jrun's own job
        dist.init_process_group("nccl" if dev.type == "cuda" else "gloo", rank=0, world_size=1)
        net = nn.parallel.DistributedDataParallel(
            model, device_ids=[0] if dev.type == "cuda" else None, gradient_as_bucket_view=True
        )
    opt = torch.optim.AdamW(params, lr=3e-4, weight_decay=0.01, fused=True)
    for n in range(-a.warmup, a.steps):
        if n == 0:
            sync()
            begin = time.perf_counter()
        opt.zero_grad(set_to_none=True)
        with torch.autocast(dev.type, torch.bfloat16, enabled=a.precision == "bf16"):
            loss = net(x, y)
        loss.backward()
        if a.clip:
            torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step()
    sync()
    result("step_ms", (time.perf_counter() - begin) / a.steps * 1e3)
    result("loss", loss.item())


result("version", torch.__version__)
{"calls": calls, "step": step}[a.what]()
os._exit(0)
