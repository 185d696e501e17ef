"""The measurements of io.jrun.bench.gpu.GpuTimes in Python's torch, on the same GPU: same model, tokens and optimizer.
Prints lines 'RESULT NAME NUMBER'.

python3 gpu_gpt.py calls
python3 gpu_gpt.py fp8
python3 gpu_gpt.py step [--model=gpt2|llama] [--batch=N] [--steps=N] [--precision=bf16|f32|tf32]
                        [--mode=none|ddp|fsdp] [--recompute] [--clip]
fsdp is fully_shard (FSDP2) over a mesh of one rank, each block a unit; --recompute computes each block again.
"""
import argparse
import os
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

p = argparse.ArgumentParser()
p.add_argument("what", choices=["calls", "fp8", "step"])
p.add_argument("--model", default="gpt2", choices=["gpt2", "llama"])
p.add_argument("--batch", type=int, default=8)
p.add_argument("--steps", type=int, default=25)
p.add_argument("--precision", default="bf16")
p.add_argument("--mode", default="none")
p.add_argument("--clip", action=argparse.BooleanOptionalAction, default=False)
p.add_argument("--recompute", action=argparse.BooleanOptionalAction, default=False)
p.add_argument("--device", default="cuda:0", help="cpu: to test this program without a GPU")
standards = dict(layers=12, width=768, heads=12, vocab=50304, context=1024, warmup=60, keyheads=4, inner=5632)
for name, standard in standards.items():
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


def fp8():
    side = 8192 if dev.type == "cuda" else 64
    m = torch.randn(side, side, device=dev).to(torch.float8_e4m3fn)
    k = torch.randn(side, side, device=dev).to(torch.float8_e4m3fn)
    one = torch.ones(1, device=dev)
    for n in range(-3, 10):
        if n == 0:
            sync()
            begin = time.perf_counter()
        torch._scaled_mm(m, k.t(), scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=True)
    sync()
    result("fp8_tflops", 2 * side**3 * 10 / (time.perf_counter() - begin) / 1e12)


class Conv1D(nn.Module):  # GPT-2's linear layer: a weight of [inputs, outputs]
    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(i, o)), nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


class Recomputed(nn.Module):  # a block that keeps its input only, with --recompute
    def forward(self, x, *rest):
        return checkpoint(self.compute, x, *rest, use_reentrant=False) if a.recompute else self.compute(x, *rest)


class Block(Recomputed):
    def __init__(self):
        super().__init__()
        d = a.width
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.c_attn, self.attn_proj = Conv1D(d, 3 * d), Conv1D(d, d)
        self.c_fc, self.mlp_proj = Conv1D(d, 4 * d), Conv1D(4 * d, d)

    def compute(self, x):
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


def turn(x, cos, sin):  # rotary embedding, pairs of element i and i + half
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


class LlamaBlock(Recomputed):
    def __init__(self):
        super().__init__()
        d, keys = a.width, a.width // a.heads * a.keyheads
        self.norm_1, self.norm_2 = nn.RMSNorm(d, 1e-5), nn.RMSNorm(d, 1e-5)
        self.q, self.o_proj = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.k, self.v = nn.Linear(d, keys, bias=False), nn.Linear(d, keys, bias=False)
        self.gate, self.up = nn.Linear(d, a.inner, bias=False), nn.Linear(d, a.inner, bias=False)
        self.down_proj = nn.Linear(a.inner, d, bias=False)

    def compute(self, x, cos, sin):
        b, s, d = x.shape
        n = self.norm_1(x)
        q, k, v = (m(n).view(b, s, -1, d // a.heads).transpose(1, 2) for m in (self.q, self.k, self.v))
        cos, sin = cos.to(q.dtype), sin.to(q.dtype)
        y = F.scaled_dot_product_attention(turn(q, cos, sin), turn(k, cos, sin), v, is_causal=True, enable_gqa=True)
        x = x + self.o_proj(y.transpose(1, 2).reshape(b, s, d))
        n = self.norm_2(x)
        return x + self.down_proj(F.silu(self.gate(n)) * self.up(n))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(a.vocab, a.width)
        self.h = nn.ModuleList(LlamaBlock() for _ in range(a.layers))
        self.norm = nn.RMSNorm(a.width, 1e-5)
        self.head = nn.Linear(a.width, a.vocab, bias=False)
        for n, q in self.named_parameters():
            if q.dim() > 1:
                nn.init.normal_(q, std=0.02 / ((2 * a.layers) ** 0.5 if "proj" in n else 1))

    def forward(self, ids, targets):
        x = self.wte(ids)
        each = a.width // a.heads
        rates = 10000.0 ** (-torch.arange(0, each, 2, device=ids.device) / each)
        angles = torch.outer(torch.arange(ids.shape[1], device=ids.device).float(), rates)
        cos, sin = angles.cos(), angles.sin()
        for block in self.h:
            x = block(x, cos, sin)
        return F.cross_entropy(self.head(self.norm(x)).reshape(-1, a.vocab), targets.reshape(-1))


def start_group():
    import torch.distributed as dist

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ["MASTER_PORT"] = "29517"  # jrun's variables name the port of jrun's own job
    dist.init_process_group("nccl" if dev.type == "cuda" else "gloo", rank=0, world_size=1)


def shard(model):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(dev.type, (1,))
    for block in model.h:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


def step():
    if a.precision == "tf32":
        torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    with dev:
        model = Llama() if a.model == "llama" else Gpt()
    prime = 2**31 - 1
    i = torch.arange(a.batch * a.context)
    x = ((i * i % prime * 48271 + i * 16807 + 1001 * 69621) % prime).double() / prime * a.vocab
    x = x.long().view(a.batch, a.context).to(dev)
    y = (x * 31 + 7) % a.vocab
    net = model
    if a.mode == "ddp":
        start_group()
        net = nn.parallel.DistributedDataParallel(
            model, device_ids=[0] if dev.type == "cuda" else None, gradient_as_bucket_view=True
        )
    if a.mode == "fsdp":
        start_group()
        shard(model)
    params = list(model.parameters())
    opt = torch.optim.AdamW(params, lr=3e-4, weight_decay=0.01, fused=True)
    for n in range(-a.warmup, a.steps):
        if n == 0:
            sync()
            if dev.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
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
    if dev.type == "cuda":
        result("peak_mib", torch.cuda.max_memory_allocated() / 2**20)


result("version", torch.__version__)
{"calls": calls, "fp8": fp8, "step": step}[a.what]()
os._exit(0)
