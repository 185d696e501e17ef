package io.jrun.comm.backend;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * The description of a message that travels with it. The receiver matches messages by their envelopes.
 *
 * @param isObject whether the bytes are an encoded object of any size
 */
public record Envelope(int tag, DataType type, long count, boolean isObject) {
    private static final int WORDS = 3;
    private static final long OBJECT = 1L << 32;
    private static final DataType[] TYPES = DataType.values();

    /** Decodes the envelope of a message with this label. */
    public static Envelope of(long label, DataType type, long count) {
        return new Envelope(tag(label), type, count, (label & OBJECT) != 0);
    }

    /** The tag in a label. */
    public static int tag(long label) {
        return (int) label;
    }

    /** Encodes the tag and the object flag as one number for {@link Call#label}. */
    public long label() {
        return Integer.toUnsignedLong(tag) | (isObject ? OBJECT : 0);
    }

    /** Returns the call that sends the envelope of {@code message} as a separate message. */
    @SuppressWarnings("EnumOrdinal") // The reader runs the same classes.
    static Call sendCall(Call message) {
        return call(message, new long[] {message.label(), message.type().ordinal(), message.count()});
    }

    /** Returns the call that receives an envelope into {@code words}, on behalf of {@code receive}. */
    static Call receiveCall(long[] words, Call receive) {
        return call(receive, words);
    }

    static long[] words() {
        return new long[WORDS];
    }

    static Envelope of(long[] words) {
        return of(words[0], TYPES[(int) words[1]], words[2]);
    }

    private static Call call(Call message, long[] words) {
        MemorySegment memory = MemorySegment.ofArray(words);
        return new Call(
                message.sequence(),
                message.kind(),
                DataType.I64,
                ReduceOp.SUM,
                WORDS,
                message.root(),
                memory,
                memory,
                message.deadline(),
                null,
                null,
                0,
                message.asCalled());
    }

    /** Size of the message in bytes. */
    public long bytes() {
        return count * type.sizeBytes();
    }

    /** Describes the send for messages to the user. */
    public String describe(long sequence, int destination) {
        return Call.describe(sequence, OpKind.SEND, type, ReduceOp.SUM, amount(), destination);
    }

    /** Describes tag and size for messages to the user, in the place of a count. */
    public String amount() {
        return amount(OpKind.SEND);
    }

    /** Describes tag and size as known to a call of {@code kind}: a receive does not know the size of an object. */
    public String amount(OpKind kind) {
        String object = kind == OpKind.SEND ? "an object of " + count + " bytes" : "an object";
        return (isObject ? object : Long.toString(count)) + (tag == 0 ? "" : ", tag " + tag);
    }
}
