"""Packs the jars of a tree again: without compression, without native libraries of other platforms, one file for equal
jars. The jars of libtorch and OpenBLAS stay as they are.

Usage: repack.py FOLDER
"""
import hashlib
import os
import re
import sys
import zipfile

LIBRARY = re.compile(r"\.(so|dll|dylib|jnilib)$")
OTHER_PLATFORM = re.compile(r"(?:^|[/_-])(?:osx|darwin|win|windows|aix|freebsd)(?:[/_-]|$)|"
                            r"aarch_?64|/arm/|/i386/|loongarch64|mips64|ppc64|riscv64|s390x|/x86/")
LIBTORCH = re.compile(r"^(pytorch|openblas|javacpp)-.*-linux-x86_64\.jar$")
TIME = (1980, 1, 1, 0, 0, 0)

seen = {}
for folder, _, names in sorted(os.walk(sys.argv[1])):
    for name in sorted(names):
        path = os.path.join(folder, name)
        if name.endswith(".jar") and not LIBTORCH.match(name):
            with zipfile.ZipFile(path) as old, zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_STORED) as new:
                for entry in old.infolist():
                    foreign = LIBRARY.search(entry.filename) and OTHER_PLATFORM.search(entry.filename)
                    if not entry.is_dir() and not foreign:
                        new.writestr(zipfile.ZipInfo(entry.filename, TIME), old.read(entry))
            os.replace(path + ".new", path)
        with open(path, "rb") as file:
            key = name, hashlib.file_digest(file, "sha256").digest()
        if key in seen:
            os.remove(path)
            os.link(seen[key], path)
        seen.setdefault(key, path)
        os.chmod(path, 0o644)
