package io.jrun.comm.backend;

import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * What a message is, which its receiver cannot know: it goes to the receive that waits for such a one.
 *
 * @param isObject whether the bytes are those of an object, of whatever number
 */
public record Envelope(int tag, DataType type, long count, boolean isObject) {
    private static final int WORDS = 3;
    private static final long OBJECT = 1L << 32;
    private static final DataType[] TYPES = DataType.values();

    /** The envelope of a message whose call has this label. */
    public static Envelope of(long label, DataType type, long count) {
        return new Envelope((int) label, type, count, (label & OBJECT) != 0);
    }

    /** What a {@link Call} has of this besides type and count: the tag, and whether it is an object. */
    public long label() {
        return Integer.toUnsignedLong(tag) | (isObject ? OBJECT : 0);
    }

    /** The call that sends the envelope of {@code message} before it, as a message of its own. */
    @SuppressWarnings("EnumOrdinal") // Whoever reads it runs the same classes.
    static Call ahead(Call message) {
        return call(message, new long[] {message.label(), message.type().ordinal(), message.count()});
    }

    /** The call that receives what {@link #ahead} sent, into {@code words}, for the sake of {@code receive}. */
    static Call into(long[] words, Call receive) {
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

    /** How messages name the send. */
    public String describe(long sequence, int destination) {
        return Call.describe(sequence, OpKind.SEND, type, ReduceOp.SUM, amount(), destination);
    }

    /** Tag and size for messages, in the place of a count. */
    public String amount() {
        return amount(OpKind.SEND);
    }

    /** The same as a call of that kind knows it: a receive does not know the size of an object. */
    public String amount(OpKind kind) {
        String object = kind == OpKind.SEND ? "an object of " + count + " bytes" : "an object";
        return (isObject ? object : Long.toString(count)) + (tag == 0 ? "" : ", tag " + tag);
    }
}
