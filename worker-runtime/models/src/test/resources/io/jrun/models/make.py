"""Makes logits.txt: the logits of tiny models, computed here from the formulas of the papers, without any model library.

The weights are not stored: value i of the tensor NAME is a function of NAME and i (see tensor), which TinyModels.java
computes too. Made with torch 2.13.0 (CPU), Python 3.11: python3 make.py
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


def attention(q, k, v, causal):  # [H, S, E]
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if causal:
        s = scores.shape[-1]
        scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), -math.inf)
    y = torch.softmax(scores, -1) @ v
    return y.transpose(0, 1).reshape(q.shape[1], -1)


def heads(x, n):
    return x.view(x.shape[0], n, -1).transpose(0, 1)


def gpt2(ids, V=61, P=16, D=24, L=2, H=3, eps=1e-5):
    w = tensor
    p = "transformer."
    x = w(p + "wte.weight", V, D)[ids] + w(p + "wpe.weight", P, D)[: len(ids)]
    for i in range(L):
        b = f"{p}h.{i}."
        n = layer_norm(x, w(b + "ln_1.weight", D), w(b + "ln_1.bias", D), eps)
        qkv = n @ w(b + "attn.c_attn.weight", D, 3 * D) + w(b + "attn.c_attn.bias", 3 * D)
        q, k, v = (heads(t, H) for t in qkv.split(D, -1))
        x = x + attention(q, k, v, True) @ w(b + "attn.c_proj.weight", D, D) + w(b + "attn.c_proj.bias", D)
        n = layer_norm(x, w(b + "ln_2.weight", D), w(b + "ln_2.bias", D), eps)
        h = n @ w(b + "mlp.c_fc.weight", D, 4 * D) + w(b + "mlp.c_fc.bias", 4 * D)
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h ** 3)))
        x = x + h @ w(b + "mlp.c_proj.weight", 4 * D, D) + w(b + "mlp.c_proj.bias", D)
    x = layer_norm(x, w(p + "ln_f.weight", D), w(p + "ln_f.bias", D), eps)
    return x @ w(p + "wte.weight", V, D).T


def bert(ids, V=61, P=16, D=24, L=2, H=3, F=40, eps=1e-12):
    w = tensor
    linear = lambda x, name, o, i: x @ w(name + ".weight", o, i).T + w(name + ".bias", o)
    norm = lambda x, name: layer_norm(x, w(name + ".weight", D), w(name + ".bias", D), eps)
    gelu = lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))
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
    return x @ w(e + "word_embeddings.weight", V, D).T + w(c + "bias", V)


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


def llama(ids, interleaved=False, V=61, D=24, L=2, H=6, G=2, F=40, eps=1e-5, theta=10000.0, scaling=None):
    w = tensor
    E = D // H

    def turn(x):  # [H, S, E]
        i = torch.arange(0, E, 2, dtype=torch.float64)
        f = theta ** (-i / E)
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
        q = turn(heads(n @ w(b + "self_attn.q_proj.weight", D, D).T, H))
        k = turn(heads(n @ w(b + "self_attn.k_proj.weight", G * E, D).T, G)).repeat_interleave(H // G, 0)
        v = heads(n @ w(b + "self_attn.v_proj.weight", G * E, D).T, G).repeat_interleave(H // G, 0)
        x = x + attention(q, k, v, True) @ w(b + "self_attn.o_proj.weight", D, D).T
        n = rms_norm(x, w(b + "post_attention_layernorm.weight", D), eps)
        g = n @ w(b + "mlp.gate_proj.weight", F, D).T
        h = g * torch.sigmoid(g) * (n @ w(b + "mlp.up_proj.weight", F, D).T)
        x = x + h @ w(b + "mlp.down_proj.weight", D, F).T
    return rms_norm(x, w("model.norm.weight", D), eps) @ w("lm_head.weight", V, D).T


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
        "llama3": llama(ids, H=3, G=1, scaling=(8.0, 1.0, 8.0, 200))}
with open("logits.txt", "w") as out:
    for name, logits in rows.items():
        for row in logits.tolist():
            out.write(name + " " + " ".join(f"{x:.8g}" for x in row) + "\n")
write_torch_file("bert-uncased.pth")
