package io.jrun.train.checkpoint.sharded;

import java.util.List;

/**
 * A file of a checkpoint, in the safetensors format.
 *
 * @param file its name beside the index
 * @param bytes of the file
 * @param checksums CRC32C of each block of {@value #BLOCK_BYTES} bytes of the file; the last block may be shorter
 */
record SavedPart(String file, long bytes, List<Long> checksums) {
    /** A load verifies whole blocks. A larger block would make the load of a small part of a tensor slower. */
    static final int BLOCK_BYTES = 4 << 20;

    SavedPart {
        checksums = List.copyOf(checksums);
        if (file.isEmpty() || file.contains("/") || file.startsWith(".")) {
            throw new IllegalArgumentException("'" + file + "' is not the name of a file beside the index");
        }
        if (bytes < 0 || checksums.size() != Math.ceilDiv(bytes, BLOCK_BYTES)) {
            throw new IllegalArgumentException(
                    "part " + file + " of " + bytes + " bytes has " + checksums.size() + " checksums");
        }
    }
}
