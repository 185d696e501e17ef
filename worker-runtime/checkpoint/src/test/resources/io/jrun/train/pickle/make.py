"""Makes the .pth files of this folder. They were made with torch 2.13.0 (CPU), Python 3.11: python3 make.py

training.pth was made with torch 1.13.0 and numpy 1.24.2.
"""
import argparse
import collections
import datetime
import os
import pathlib
import types
import numpy
import torch

ramp = torch.arange(6, dtype=torch.float32).view(2, 3)

# Every element type that torch.save and safetensors share, with the values 0, 1, 2.
types = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32",
         "uint64", "bool", "complex64", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz",
         "float8_e5m2fnuz"]
torch.save({name: torch.arange(3).to(torch.float32).to(getattr(torch, name)) for name in types}, "types.pth")

# A state dictionary: a parameter, a transposed view, a part of a shared storage, a scalar, an empty tensor.
model = torch.nn.Linear(3, 2)
with torch.no_grad():
    model.weight.copy_(ramp)
    model.bias.copy_(torch.tensor([0.5, -0.5]))
state = model.state_dict()
state["transposed"] = ramp.t()
state["shared.row"] = ramp[1]
state["scalar"] = torch.tensor(7, dtype=torch.int64)
state["empty"] = torch.zeros(0, 4)
state["parameter"] = torch.nn.Parameter(torch.ones(2))
torch.save(state, "state.pth")

# A training checkpoint: nested dictionaries with numbers, strings, lists and tuples.
nested = {"epoch": 3, "lr": 0.5, "name": "net", "none": None, "flag": True, "seed": 2 ** 63, "negative": -2,
          "size": torch.Size([2, 3]), "betas": (0.9, 0.999), "model": model.state_dict(), "list": [ramp]}
torch.save(nested, "nested.pth")
torch.save(nested, "protocol4.pth", pickle_protocol=4)
torch.save(state, "legacy.pth", _use_new_zipfile_serialization=False)


class Evil:
    def __reduce__(self):
        return os.system, ("touch EXECUTED",)


torch.save({"weight": ramp, "evil": Evil()}, "evil.pth")
torch.save(model, "object.pth")
torch.jit.script(model).save("scripted.pth")


# The state of a training loop: values and objects beside the weights.
def write_training(path):
    tagged = torch.ones(2)
    tagged.tag = "attribute"
    values = {
        "model": {"weight": ramp, "parameter": torch.nn.Parameter(torch.ones(2)), "tagged": tagged},
        "options": argparse.Namespace(lr=0.1, device=torch.device("cpu")), "device": torch.device("cuda", 1),
        "seen": {1, 2}, "frozen": frozenset([3]), "loss": numpy.float64(0.25), "array": numpy.arange(3),
        "history": collections.defaultdict(list, train=[0.5]), "counts": collections.Counter("aab"),
        "when": datetime.datetime(2026, 1, 2), "path": pathlib.PosixPath("/tmp/x"), "complex": 1 + 2j, "raw": b"ab",
        "keys": {(1, 2): ramp[0]}, "dtype": torch.complex128, "wide": torch.zeros(2, dtype=torch.complex128),
        "plain": types.SimpleNamespace(a=1),
        "sparse": torch.eye(2).to_sparse(), "rng": numpy.random.RandomState(1), "memory": [bytearray(b"c")]}
    torch.save(values, path)


write_training("training.pth")
