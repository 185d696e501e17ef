#!/usr/bin/env python3
"""Lists the device code in an ELF file by GPU architecture. With --keep ARCH the code of all other architectures becomes
zero bytes: the layout of the file stays, CUDA skips these entries by their headers, and zeros cost nothing in a
compressed archive.

Usage: fatbin.py FILE [--keep ARCH]        ARCH: 90 for sm_90
"""

import collections
import mmap
import struct
import sys

MAGIC = 0xBA55ED50
KINDS = {1: "ptx", 2: "elf"}


def sections(data):
    """The name, offset and size of each section."""
    offset = struct.unpack_from("<Q", data, 0x28)[0]
    count, names = struct.unpack_from("<HxxH", data, 0x3C)[0], struct.unpack_from("<H", data, 0x3E)[0]
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * i) for i in range(count)]
    for header in headers:
        begin = headers[names][4] + header[0]
        yield data[begin : data.find(b"\0", begin)].decode(), header[4], header[5]


def entries(data, offset, size):
    """The kind, architecture, offset and size of each piece of device code in a section."""
    end = offset + size
    while offset + 16 <= end:
        magic, _, header, length = struct.unpack_from("<IHHQ", data, offset)
        if magic != MAGIC:
            offset += 8
            continue
        entry = offset + header
        while entry < offset + header + length:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", data, entry)
            architecture = struct.unpack_from("<I", data, entry + 28)[0]
            yield kind, architecture, entry + entry_header, entry_size
            entry += entry_header + entry_size
        offset += header + length


def main(path, keep):
    sizes = collections.Counter()
    with open(path, "rb" if keep is None else "r+b") as file:
        access = mmap.ACCESS_READ if keep is None else mmap.ACCESS_WRITE
        with mmap.mmap(file.fileno(), 0, access=access) as data:
            for name, offset, size in list(sections(data)):
                if name not in (".nv_fatbin", "__nv_relfatbin"):
                    continue
                for kind, architecture, begin, length in entries(data, offset, size):
                    sizes[KINDS.get(kind, kind), architecture] += length
                    if keep is not None and architecture != keep:
                        data[begin : begin + length] = bytes(length)
    for (kind, architecture), size in sorted(sizes.items(), key=str):
        kept = keep is None or architecture == keep
        print(f"{kind} sm_{architecture}: {size} bytes{'' if kept else ', zeroed'}")


if __name__ == "__main__":
    words = sys.argv[1:]
    if len(words) not in (1, 3) or (len(words) == 3 and words[1] != "--keep"):
        sys.exit(__doc__)
    main(words[0], int(words[2]) if len(words) == 3 else None)
