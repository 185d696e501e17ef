package io.jrun.examples.finetune;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.pytorch.Tensor;

/** A text whose bytes are the tokens, cut into windows that overlap by one token. */
final class ByteText {
    private final byte[] bytes;
    private final int context;

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException in one line, if the file cannot be read, or has no whole window
     */
    ByteText(Path file, int context) {
        try {
            this.bytes = Files.readAllBytes(file);
        } catch (IOException e) {
            throw new IllegalArgumentException("cannot read --data " + file + ": " + e, e);
        }
        this.context = context;
        if (windows() < 1) {
            throw new IllegalArgumentException(
                    "--data " + file + " has " + bytes.length + " bytes, expected more than --context " + context);
        }
    }

    int windows() {
        return (bytes.length - 1) / context;
    }

    /** The tokens [B, S] of windows, moved on by {@code offset} tokens. */
    Tensor tokens(long[] windows, int offset) {
        long[] tokens = new long[windows.length * context];
        for (int i = 0; i < windows.length; i++) {
            int begin = Math.toIntExact(windows[i]) * context + offset;
            for (int j = 0; j < context; j++) {
                tokens[i * context + j] = Byte.toUnsignedInt(bytes[begin + j]);
            }
        }
        return Tensor.create(tokens, windows.length, context);
    }
}
