"""Reads the parts of a checkpoint of jrun with torch, and saves the whole tensors and their sums by torch.save.

usage: whole.py FOLDER FILE.pth
"""
import glob
import json
import struct
import sys

import torch

TYPES = {"BOOL": torch.bool, "BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32,
         "F64": torch.float64, "I64": torch.int64}


def parts(path):
    """Yields name, tensor and place in the whole tensor."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    info = json.loads(header.pop("__metadata__")["DCP_SHARDING_INFO"])
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensor = torch.frombuffer(bytearray(data[begin:end]), dtype=TYPES[entry["dtype"]])
        yield name, tensor.reshape(entry["shape"]), info[name]["saved_offsets"]


def whole(found):
    ends = [[o + n for o, n in zip(offsets, tensor.shape)] for tensor, offsets in found]
    result = torch.empty([max(sizes) for sizes in zip(*ends)], dtype=found[0][0].dtype)
    for tensor, offsets in found:
        result[tuple(slice(o, o + n) for o, n in zip(offsets, tensor.shape))] = tensor
    return result


tensors = {}
for path in sorted(glob.glob(sys.argv[1] + "/*.safetensors")):
    for name, tensor, offsets in parts(path):
        tensors.setdefault(name, []).append((tensor, offsets))
state = {name: whole(found) for name, found in tensors.items()}
state["sums"] = {name: tensor.double().sum() for name, tensor in state.items()}
torch.save(state, sys.argv[2])
print(torch.__version__)
