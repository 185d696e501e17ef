package io.jrun.train.token;

import java.util.OptionalInt;

/** Turns text into token numbers and back. Implementations are thread-safe. */
public interface Tokenizer extends AutoCloseable {
    /**
     * The tokens of a text, without special tokens at its begin and end.
     *
     * @param text UTF-8
     * @throws IllegalArgumentException in one line, if the text is not UTF-8 or the tokenizer lacks a token for it; a
     *     tokenizer of bytes takes all bytes
     */
    int[] encode(byte[] text);

    /** The text of tokens, as UTF-8. Special tokens have no text. */
    byte[] decode(int[] tokens);

    /** The number of tokens. Each token is from 0 to this number minus 1. */
    int vocabulary();

    /** The token that ends a document; empty if the tokenizer has none. */
    OptionalInt endOfText();

    /** The token that stands for a hidden token in the training of a BERT; empty if the tokenizer has none. */
    default OptionalInt maskToken() {
        return OptionalInt.empty();
    }

    /** 32 hexadecimal digits. Tokenizers with another definition have another id. */
    String id();

    @Override
    void close();
}
