package io.jrun.tokenizers;

import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The process that has the native library of the tokenizers. The process reads requests from stdin and writes one reply
 * to stdout for each. The process ends with stdin. A request is the kind (1 byte), the limits of CPU time in ms and of
 * memory in MiB, the length in bytes, and the content. A reply is the status (1 byte), the length and the content.
 * Numbers have 4 bytes and are big-endian.
 */
public final class TokenizerMain {
    /** Kinds of requests: a tokenizer.json as the tokenizer of the next requests, no tokenizer, a text, tokens. */
    static final byte LOAD = 'L';

    static final byte UNLOAD = 'U';
    static final byte ENCODE = 'E';
    static final byte DECODE = 'D';

    /** Status of replies: the result, an error of the library in words, an installation without a usable library. */
    static final byte DONE = 0;

    static final byte REFUSED = 1;
    static final byte UNUSABLE = 2;

    private long tokenizer;

    private TokenizerMain() {}

    /** Answers requests until stdin ends. Takes no arguments. */
    public static void main(String[] args) throws IOException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out)));
        System.setOut(System.err); // a line of the library must not end in a reply
        TokenizerMain main = new TokenizerMain();
        UsageLimit limit = UsageLimit.start();
        for (int kind = in.read(); kind >= 0; kind = in.read()) {
            int cpuMillis = in.readInt();
            int memoryMiB = in.readInt();
            byte[] content = in.readNBytes(in.readInt());
            limit.begin(cpuMillis, memoryMiB);
            byte status;
            byte[] reply;
            try {
                reply = main.answer((byte) kind, content);
                status = DONE;
            } catch (IllegalStateException e) {
                status = UNUSABLE;
                reply = String.valueOf(e.getMessage()).getBytes(StandardCharsets.UTF_8);
            } catch (RuntimeException e) {
                status = REFUSED;
                reply = String.valueOf(e.getMessage()).getBytes(StandardCharsets.UTF_8);
            }
            limit.end();
            out.writeByte(status);
            out.writeInt(reply.length);
            out.write(reply);
            out.flush();
        }
    }

    private byte[] answer(byte kind, byte[] content) {
        TokenizersLibrary library = NativeTokenizers.library();
        switch (kind) {
            case LOAD -> {
                unload(library);
                tokenizer = library.createTokenizerFromString(new String(content, StandardCharsets.UTF_8));
                library.disableTruncation(tokenizer);
                library.disablePadding(tokenizer);
                return new byte[0];
            }
            case UNLOAD -> {
                unload(library);
                return new byte[0];
            }
            case ENCODE -> {
                long encoding = library.encode(tokenizer, new String(content, StandardCharsets.UTF_8), false);
                try {
                    return bytes(library.getTokenIds(encoding));
                } finally {
                    library.deleteEncoding(encoding);
                }
            }
            case DECODE -> {
                return library.decode(tokenizer, tokens(content), true).getBytes(StandardCharsets.UTF_8);
            }
            default -> throw new IllegalStateException("kind " + kind + " is unknown");
        }
    }

    private void unload(TokenizersLibrary library) {
        if (tokenizer != 0) {
            library.deleteTokenizer(tokenizer);
            tokenizer = 0;
        }
    }

    private static byte[] bytes(long[] tokens) {
        ByteBuffer bytes = ByteBuffer.allocate(Math.multiplyExact(tokens.length, Integer.BYTES));
        for (long token : tokens) {
            bytes.putInt(Math.toIntExact(token));
        }
        return bytes.array();
    }

    private static long[] tokens(byte[] content) {
        LongBuffer tokens = LongBuffer.allocate(content.length / Integer.BYTES);
        ByteBuffer bytes = ByteBuffer.wrap(content);
        while (tokens.hasRemaining()) {
            tokens.put(bytes.getInt());
        }
        return tokens.array();
    }
}
