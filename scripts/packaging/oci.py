"""Writes an OCI image of one layer: an archive with the image layout, for podman load, docker load and skopeo.

Usage: oci.py ROOT_TAR VERSION IMAGE_TAR
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time

root, version, homepage, target = sys.argv[1:]
when = int(os.environ["SOURCE_DATE_EPOCH"])
created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
CHUNK = 1 << 20


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def compressed(path):
    """Returns the digest of the file itself, and a compressed copy."""
    plain = hashlib.sha256()
    copy = path + ".gz"
    with open(path, "rb") as file, open(copy, "wb") as out, gzip.GzipFile("", "wb", 6, out, mtime=0) as packed:
        while chunk := file.read(CHUNK):
            plain.update(chunk)
            packed.write(chunk)
    return "sha256:" + plain.hexdigest(), copy


diff_id, layer = compressed(root)
with open(layer, "rb") as file:
    layer_digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()

labels = {
    "org.opencontainers.image.title": "jrun",
    "org.opencontainers.image.description": "Cluster launcher and distributed training runtime for the JVM",
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.url": homepage,
    "org.opencontainers.image.version": version,
}
config = json.dumps({
    "created": created,
    "architecture": "amd64",
    "os": "linux",
    "config": {
        "Entrypoint": ["/opt/jrun/bin/jrun"],
        "Cmd": ["--help"],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "JAVA_HOME=/opt/jrun/jre",
                "LANG=C.UTF-8"],
        "Labels": labels,
    },
    "rootfs": {"type": "layers", "diff_ids": [diff_id]},
    "history": [{"created": created, "created_by": "scripts/package"}],
}, sort_keys=True).encode()
manifest = json.dumps({
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest(config), "size": len(config)},
    "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": layer_digest,
                "size": os.path.getsize(layer)}],
    "annotations": labels,
}, sort_keys=True).encode()
index = json.dumps({
    "schemaVersion": 2,
    "mediaType": "application/vnd.oci.image.index.v1+json",
    "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest(manifest),
                   "size": len(manifest),
                   "annotations": {"org.opencontainers.image.ref.name": f"localhost/jrun:{version}"}}],
}, sort_keys=True).encode()

with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as out:
    def add(name, size, source):
        entry = tarfile.TarInfo(name)
        entry.size, entry.mtime, entry.mode = size, when, 0o644
        out.addfile(entry, source)

    def blob(data):
        add("blobs/sha256/" + digest(data)[len("sha256:"):], len(data), io.BytesIO(data))

    layout = b'{"imageLayoutVersion":"1.0.0"}'
    add("oci-layout", len(layout), io.BytesIO(layout))
    add("index.json", len(index), io.BytesIO(index))
    blob(config)
    blob(manifest)
    with open(layer, "rb") as file:
        add("blobs/sha256/" + layer_digest[len("sha256:"):], os.path.getsize(layer), file)
os.remove(layer)
