package io.jrun.train.token;

import java.util.OptionalInt;

/** Each byte is one token, from 0 to 255. */
public final class ByteTokenizer implements Tokenizer {
    private static final int BYTES = 256;
    private static final String ID = TokenizerId.of("bytes");

    @Override
    public int[] encode(byte[] text) {
        int[] tokens = new int[text.length];
        for (int i = 0; i < text.length; i++) {
            tokens[i] = Byte.toUnsignedInt(text[i]);
        }
        return tokens;
    }

    @Override
    public byte[] decode(int[] tokens) {
        byte[] text = new byte[tokens.length];
        for (int i = 0; i < tokens.length; i++) {
            text[i] = (byte) tokens[i];
        }
        return text;
    }

    @Override
    public int vocabulary() {
        return BYTES;
    }

    @Override
    public OptionalInt endOfText() {
        return OptionalInt.empty();
    }

    @Override
    public String id() {
        return ID;
    }

    @Override
    public void close() {}
}
