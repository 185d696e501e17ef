"""Makes a zip file of a tar.gz file, with the modes of the files: SDKMAN and Homebrew by JReleaser take no other.

Usage: zip.py TAR_GZ ZIP
"""
import sys
import tarfile
import zipfile

with tarfile.open(sys.argv[1]) as source, zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as target:
    for member in source:
        if member.isfile() or member.islnk():
            entry = zipfile.ZipInfo(member.name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | member.mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            content = source.extractfile(member)
            assert content is not None
            target.writestr(entry, content.read())
