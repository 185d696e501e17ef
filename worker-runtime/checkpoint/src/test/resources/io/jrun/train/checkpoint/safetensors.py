"""Reads and writes safetensors files with the standard library alone, for a comparison with jrun.

python3 safetensors.py read FILE          prints a line for each tensor: name, type, shape, values
python3 safetensors.py write FILE < LINES writes such lines to a file
"""
import json
import struct
import sys

FORMATS = {"BOOL": "?", "U8": "B", "I8": "b", "I16": "h", "U16": "H", "F16": "e", "I32": "i", "U32": "I", "F32": "f",
           "F64": "d", "I64": "q", "U64": "Q"}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size], object_pairs_hook=list)
    assert data[8:9] == b"{" and len(set(k for k, _ in header)) == len(header)
    end = 0
    for name, value in header:
        entry = dict(value)
        if name == "__metadata__":
            print("metadata", json.dumps(entry, sort_keys=True), sep="\t")
            continue
        begin, stop = entry["data_offsets"]
        assert begin == end, name
        end = stop
        count = 1
        for n in entry["shape"]:
            count *= n
        layout = "<" + str(count) + FORMATS[entry["dtype"]]
        assert struct.calcsize(layout) == stop - begin, name
        values = struct.unpack(layout, data[8 + size + begin:8 + size + stop])
        shape = ",".join(map(str, entry["shape"]))
        print(name, entry["dtype"], shape, ",".join(str(float(v)) for v in values), sep="\t")
    assert 8 + size + end == len(data)


def write(path):
    header, data = {}, b""
    for line in sys.stdin.read().splitlines():
        name, dtype, *rest = line.split("\t")
        if name == "metadata":
            header["__metadata__"] = json.loads(dtype)
            continue
        shape = [int(n) for n in rest[0].split(",") if n]
        numbers = [float(v) for v in rest[1].split(",") if v]
        kind = FORMATS[dtype]
        values = numbers if kind in "efd" else [int(v) for v in numbers]
        packed = struct.pack("<" + str(len(values)) + kind, *values)
        header[name] = {"data_offsets": [len(data), len(data) + len(packed)], "shape": shape, "dtype": dtype}
        data += packed
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


{"read": read, "write": write}[sys.argv[1]](sys.argv[2])
