"""Makes logits.txt: the logits of tiny models, computed here from the formulas of the papers, without any model library.

The weights are not stored: value i of the tensor NAME is a function of NAME and i (see tensor), which TinyModels.java
computes too. Made with torch 2.13.0 (CPU), Python 3.11: python3 make.py. The rows of the variants (GPT-2 with other scales,
BERT and GPT-2 with a head of their own, Llama with other fields and with adapters) were made with torch 1.13.0.
"""
import collections
import math
import torch

MASK = (1 << 64) - 1


def mix(x):  # SplitMix64 (Steele et al. 2014)
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def tensor(name, *shape):  # uniform in [-0.5, 0.5), plus 1 for the weight of a norm
    seed = 0
    for c in name.encode():
        seed = (seed * 31 + c) & MASK
    is_norm = name.endswith("weight") and ("norm" in name.lower() or ".ln_" in name)
    values = [(mix((seed + i) & MASK) >> 40) / (1 << 24) - 0.5 + is_norm for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float32).view(*shape)


def layer_norm(x, w, b, eps):
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(var + eps) * w + b


def rms_norm(x, w, eps):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * w


def attention(q, k, v, causal, divisor=None):  # [H, S, E]
    scores = q @ k.transpose(1, 2) / (divisor or math.sqrt(q.shape[-1]))
    if causal:
        s = scores.shape[-1]
        scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), -math.inf)
    y = torch.softmax(scores, -1) @ v
    return y.transpose(0, 1).reshape(q.shape[1], -1)


def heads(x, n):
    return x.view(x.shape[0], n, -1).transpose(0, 1)


def gelu_tanh(h):
    return 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))


def gpt2(ids, V=61, P=16, D=24, L=2, H=3, eps=1e-5, act=gelu_tanh, divisor=lambda block: None,
         head="transformer.wte.weight"):
    w = tensor
    p = "transformer."
    x = w(p + "wte.weight", V, D)[ids] + w(p + "wpe.weight", P, D)[: len(ids)]
    for i in range(L):
        b = f"{p}h.{i}."
        n = layer_norm(x, w(b + "ln_1.weight", D), w(b + "ln_1.bias", D), eps)
        qkv = n @ w(b + "attn.c_attn.weight", D, 3 * D) + w(b + "attn.c_attn.bias", 3 * D)
        q, k, v = (heads(t, H) for t in qkv.split(D, -1))
        x = x + attention(q, k, v, True, divisor(i)) @ w(b + "attn.c_proj.weight", D, D) + w(b + "attn.c_proj.bias", D)
        n = layer_norm(x, w(b + "ln_2.weight", D), w(b + "ln_2.bias", D), eps)
        h = n @ w(b + "mlp.c_fc.weight", D, 4 * D) + w(b + "mlp.c_fc.bias", 4 * D)
        h = act(h)
        x = x + h @ w(b + "mlp.c_proj.weight", 4 * D, D) + w(b + "mlp.c_proj.bias", D)
    x = layer_norm(x, w(p + "ln_f.weight", D), w(p + "ln_f.bias", D), eps)
    return x @ w(head, V, D).T


def bert(ids, V=61, P=16, D=24, L=2, H=3, F=40, eps=1e-12, act=None, head="bert.embeddings.word_embeddings.weight"):
    w = tensor
    linear = lambda x, name, o, i: x @ w(name + ".weight", o, i).T + w(name + ".bias", o)
    norm = lambda x, name: layer_norm(x, w(name + ".weight", D), w(name + ".bias", D), eps)
    gelu = act or (lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))))
    e = "bert.embeddings."
    x = w(e + "word_embeddings.weight", V, D)[ids] + w(e + "position_embeddings.weight", P, D)[: len(ids)]
    x = norm(x + w(e + "token_type_embeddings.weight", 2, D)[0], e + "LayerNorm")
    for i in range(L):
        b = f"bert.encoder.layer.{i}."
        q, k, v = (heads(linear(x, b + "attention.self." + n, D, D), H) for n in ("query", "key", "value"))
        a = linear(attention(q, k, v, False), b + "attention.output.dense", D, D)
        x = norm(a + x, b + "attention.output.LayerNorm")
        h = gelu(linear(x, b + "intermediate.dense", F, D))
        x = norm(linear(h, b + "output.dense", D, F) + x, b + "output.LayerNorm")
    c = "cls.predictions."
    x = norm(gelu(linear(x, c + "transform.dense", D, D)), c + "transform.LayerNorm")
    return x @ w(head, V, D).T + w(c + "bias", V)


def llama3_scaling(f, factor, low, high, context):  # the frequencies of Llama 3.1 and newer
    out = []
    for x in f.tolist():
        length = 2 * math.pi / x
        if length < context / high:
            out.append(x)
        elif length > context / low:
            out.append(x / factor)
        else:
            smooth = (context / length - low) / (high - low)
            out.append((1 - smooth) * x / factor + smooth * x)
    return torch.tensor(out, dtype=torch.float64)


def llama(ids, interleaved=False, V=61, D=24, L=2, H=6, G=2, F=40, eps=1e-5, theta=10000.0, scaling=None, linear=1,
          act=lambda g: g * torch.sigmoid(g), mlp_bias=False, adapters={}, head="lm_head.weight"):
    w = tensor
    E = D // H

    def project(x, name, o, i, bias=False):  # adapters: name -> (rank, factor)
        y = x @ w(name + ".weight", o, i).T + (w(name + ".bias", o) if bias else 0)
        if name in adapters:
            r, factor = adapters[name]
            y = y + factor * (x @ w(name + ".lora_A.weight", r, i).T @ w(name + ".lora_B.weight", o, r).T)
        return y

    def turn(x):  # [H, S, E]
        i = torch.arange(0, E, 2, dtype=torch.float64)
        f = theta ** (-i / E) / linear
        f = llama3_scaling(f, *scaling) if scaling else f
        a = torch.outer(torch.arange(x.shape[1], dtype=torch.float64), f)
        c, s = torch.cos(a).float(), torch.sin(a).float()
        out = torch.empty_like(x)
        one, two = (slice(0, E, 2), slice(1, E, 2)) if interleaved else (slice(0, E // 2), slice(E // 2, E))
        out[..., one] = x[..., one] * c - x[..., two] * s
        out[..., two] = x[..., two] * c + x[..., one] * s
        return out

    x = w("model.embed_tokens.weight", V, D)[ids]
    for i in range(L):
        b = f"model.layers.{i}."
        n = rms_norm(x, w(b + "input_layernorm.weight", D), eps)
        q = turn(heads(project(n, b + "self_attn.q_proj", D, D), H))
        k = turn(heads(project(n, b + "self_attn.k_proj", G * E, D), G)).repeat_interleave(H // G, 0)
        v = heads(project(n, b + "self_attn.v_proj", G * E, D), G).repeat_interleave(H // G, 0)
        x = x + project(attention(q, k, v, True), b + "self_attn.o_proj", D, D)
        n = rms_norm(x, w(b + "post_attention_layernorm.weight", D), eps)
        h = act(project(n, b + "mlp.gate_proj", F, D, mlp_bias)) * project(n, b + "mlp.up_proj", F, D, mlp_bias)
        x = x + project(h, b + "mlp.down_proj", D, F, mlp_bias)
    return rms_norm(x, w("model.norm.weight", D), eps) @ w(head, V, D).T


def write_torch_file(path):  # BERT as in bert-base-uncased: old names of the norms, all heads
    V, P, D, F = 61, 16, 24, 40
    shapes = {"embeddings.word_embeddings.weight": (V, D), "embeddings.position_embeddings.weight": (P, D),
              "embeddings.token_type_embeddings.weight": (2, D), "embeddings.LayerNorm.weight": (D,),
              "embeddings.LayerNorm.bias": (D,)}
    for i in range(2):
        b = f"encoder.layer.{i}."
        for n, o, k in (("attention.self.query", D, D), ("attention.self.key", D, D), ("attention.self.value", D, D),
                        ("attention.output.dense", D, D), ("intermediate.dense", F, D), ("output.dense", D, F)):
            shapes[b + n + ".weight"], shapes[b + n + ".bias"] = (o, k), (o,)
        for n in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[b + n + ".weight"], shapes[b + n + ".bias"] = (D,), (D,)
    shapes = {"bert." + n: s for n, s in shapes.items()}
    c = "cls.predictions."
    shapes |= {c + "bias": (V,), c + "transform.dense.weight": (D, D), c + "transform.dense.bias": (D,),
               c + "transform.LayerNorm.weight": (D,), c + "transform.LayerNorm.bias": (D,)}
    state = collections.OrderedDict()
    for name, shape in shapes.items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        state[old] = tensor(name, *shape)
    state["bert.pooler.dense.weight"], state["bert.pooler.dense.bias"] = torch.zeros(D, D), torch.zeros(D)
    state["cls.seq_relationship.weight"], state["cls.seq_relationship.bias"] = torch.zeros(2, D), torch.zeros(2)
    state["cls.predictions.decoder.weight"] = state["bert.embeddings.word_embeddings.weight"]
    torch.save(state, path)


ids = [1, 2, 3, 60, 0, 17, 42]
rows = {"gpt2": gpt2(ids), "bert": bert(ids), "llama": llama(ids), "llama-meta": llama(ids, interleaved=True),
        "llama3": llama(ids, H=3, G=1, scaling=(8.0, 1.0, 8.0, 200)),
        "gpt2-unscaled": gpt2(ids, divisor=lambda block: 1.0),
        "gpt2-by-layer": gpt2(ids, divisor=lambda block: math.sqrt(8) * (block + 1), act=torch.relu),
        "gpt2-untied": gpt2(ids, head="lm_head.weight"),
        "bert-untied": bert(ids, head="cls.predictions.decoder.weight", act=gelu_tanh),
        "llama-fields": llama(ids, linear=4.0, act=lambda g: torch.relu(g) ** 2, mlp_bias=True),
        "llama-tied": llama(ids, head="model.embed_tokens.weight"),
        # alpha 5 and rank 3; in layer 1 o_proj has rank 2 and alpha 7.
        "llama-adapters": llama(ids, adapters={
            "model.layers.0.self_attn.q_proj": (3, 5 / 3), "model.layers.0.mlp.down_proj": (3, 5 / 3),
            "model.layers.1.self_attn.o_proj": (2, 7 / 2), "model.layers.1.self_attn.q_proj": (3, 5 / 3)}),
        "llama-stabilized": llama(ids, adapters={
            f"model.layers.1.self_attn.{n}_proj": (3, 5 / math.sqrt(3)) for n in "qk"})}
with open("logits.txt", "w") as out:
    for name, logits in rows.items():
        for row in logits.tolist():
            out.write(name + " " + " ".join(f"{x:.8g}" for x in row) + "\n")
write_torch_file("bert-uncased.pth")
