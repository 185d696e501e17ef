package io.jrun.tokenizers;

import io.jrun.tokenizers.TokenizerProcess.Budget;
import io.jrun.tokenizers.TokenizerProcess.EndedException;
import io.jrun.train.json.OneLine;
import io.jrun.train.token.Tokenizer;
import io.jrun.train.token.TokenizerId;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.OptionalInt;

/**
 * A tokenizer of the native library, which runs in processes of its own. Padding and truncation of the file are not
 * applied. Thread-safe.
 */
final class HuggingFaceTokenizer implements Tokenizer {
    private final TokenizerDefinition definition;
    private final Limits limits;
    private final String id;
    private volatile boolean isClosed;

    private HuggingFaceTokenizer(TokenizerDefinition definition, Limits limits) {
        this.definition = definition;
        this.limits = limits;
        this.id = TokenizerId.of(definition.json());
    }

    /** The limits of a text: a part that is equal for all texts, and a part that grows with the text. */
    record Limits(int cpuMillis, int memoryMiB, int cpuMillisPerMiB, int memoryPerByte) {
        /** At least ten times what published tokenizers need. */
        static final Limits DEFAULT = new Limits(5_000, 512, 30_000, 2_000);

        private Budget budget(int bytes) {
            return Budget.of(cpuMillis, memoryMiB, bytes, cpuMillisPerMiB, memoryPerByte);
        }
    }

    /** @throws IllegalArgumentException in one line, if the library does not take the definition */
    static HuggingFaceTokenizer of(TokenizerDefinition definition, Limits limits) {
        try {
            TokenizerPool.load(definition);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    definition.file() + " is not a valid tokenizer: " + OneLine.of(String.valueOf(e.getMessage())), e);
        } catch (EndedException e) {
            throw new IllegalArgumentException(
                    definition.file() + " is not a valid tokenizer: the library " + e.getMessage() + " to load it"
                            + expressions(definition),
                    e);
        }
        return new HuggingFaceTokenizer(definition, limits);
    }

    @Override
    public int[] encode(byte[] text) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the text is not UTF-8", e);
        }
        byte[] reply = call(TokenizerMain.ENCODE, text, "encode " + text.length + " bytes of text");
        IntBuffer tokens = ByteBuffer.wrap(reply).asIntBuffer();
        int[] all = new int[tokens.remaining()];
        tokens.get(all);
        return all;
    }

    @Override
    public byte[] decode(int[] tokens) {
        ByteBuffer content = ByteBuffer.allocate(Math.multiplyExact(tokens.length, Integer.BYTES));
        content.asIntBuffer().put(tokens);
        return call(TokenizerMain.DECODE, content.array(), "decode " + tokens.length + " tokens");
    }

    private byte[] call(byte kind, byte[] content, String what) {
        if (isClosed) {
            throw new IllegalStateException("the tokenizer of " + definition.file() + " is closed");
        }
        try {
            return TokenizerPool.call(definition, kind, limits.budget(content.length), content);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    definition.file() + " does not " + what + ": " + OneLine.of(String.valueOf(e.getMessage())), e);
        } catch (EndedException e) {
            throw new IllegalArgumentException(
                    "the tokenizer of " + definition.file() + " " + e.getMessage() + " to " + what
                            + expressions(definition),
                    e);
        }
    }

    /** The expressions of the file, which are the usual cause. */
    private static String expressions(TokenizerDefinition definition) {
        return definition.expressions().isEmpty()
                ? ""
                : ". Its expressions: " + OneLine.of("'" + String.join("', '", definition.expressions()) + "'");
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
        if (!isClosed) {
            isClosed = true;
            TokenizerPool.unload(definition);
        }
    }
}
