package io.jrun.tokenizers;

import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import io.jrun.train.json.OneLine;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.token.TokenizerId;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** A tokenizer of the native library. Padding and truncation of the file are not applied. Thread-safe. */
final class HuggingFaceTokenizer implements Tokenizer {
    private final TokenizersLibrary library;
    private final TokenizerDefinition definition;
    private final String id;
    /** Held for writing while the native tokenizer is deleted. */
    private final ReadWriteLock lock = new ReentrantReadWriteLock();

    private long handle;

    private HuggingFaceTokenizer(TokenizersLibrary library, TokenizerDefinition definition, long handle) {
        this.library = library;
        this.definition = definition;
        this.id = TokenizerId.of(definition.json());
        this.handle = handle;
    }

    /** @throws IllegalArgumentException in one line, if the library does not take the definition */
    static HuggingFaceTokenizer of(TokenizerDefinition definition) {
        TokenizersLibrary library = NativeTokenizers.library();
        long handle;
        try {
            handle = library.createTokenizerFromString(definition.json());
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(
                    definition.file() + " is not a valid tokenizer: " + OneLine.of(String.valueOf(e.getMessage())), e);
        }
        library.disableTruncation(handle);
        library.disablePadding(handle);
        return new HuggingFaceTokenizer(library, definition, handle);
    }

    @Override
    public int[] encode(byte[] text) {
        String decoded;
        try {
            decoded = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(text))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the text is not UTF-8", e);
        }
        lock.readLock().lock();
        try {
            long encoding = encode(decoded);
            try {
                return Arrays.stream(library.getTokenIds(encoding))
                        .mapToInt(Math::toIntExact)
                        .toArray();
            } finally {
                library.deleteEncoding(encoding);
            }
        } finally {
            lock.readLock().unlock();
        }
    }

    private long encode(String text) {
        long tokenizer = open();
        try {
            return library.encode(tokenizer, text, false);
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(
                    definition.file() + " does not encode the text: " + OneLine.of(String.valueOf(e.getMessage())), e);
        }
    }

    @Override
    public byte[] decode(int[] tokens) {
        lock.readLock().lock();
        try {
            long[] ids = Arrays.stream(tokens).asLongStream().toArray();
            return library.decode(open(), ids, true).getBytes(StandardCharsets.UTF_8);
        } finally {
            lock.readLock().unlock();
        }
    }

    @Override
    public int vocabulary() {
        return definition.vocabulary();
    }

    @Override
    public OptionalInt endOfText() {
        return definition.endOfText();
    }

    @Override
    public OptionalInt maskToken() {
        return definition.maskToken();
    }

    @Override
    public String id() {
        return id;
    }

    @Override
    public void close() {
        lock.writeLock().lock();
        try {
            if (handle != 0) {
                library.deleteTokenizer(handle);
                handle = 0;
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    private long open() {
        if (handle == 0) {
            throw new IllegalStateException("the tokenizer of " + definition.file() + " is closed");
        }
        return handle;
    }
}
