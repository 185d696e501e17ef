package io.jrun.comm;

import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.OpKind;
import java.lang.foreign.MemorySegment;

/**
 * What goes before the elements of a message, as a message of four numbers of its own: whose tag and size the receiver could
 * not know.
 *
 * @param isObject whether the bytes are those of an object, of whatever number
 */
record Envelope(int tag, DataType type, long count, boolean isObject) {
    private static final int WORDS = 4;
    private static final DataType[] TYPES = DataType.values();

    static Envelope of(int tag, Request request) {
        return new Envelope(tag, request.type(), request.count(), false);
    }

    static Envelope ofObject(int tag, long bytes) {
        return new Envelope(tag, DataType.U8, bytes, true);
    }

    /** The call that sends this before {@code message}. */
    @SuppressWarnings("EnumOrdinal") // Whoever reads it runs the same classes.
    Call sentWith(Call message) {
        long[] words = {tag, type.ordinal(), count, isObject ? 1 : 0};
        return call(message.sequence(), OpKind.SEND, message.root(), words, message);
    }

    /** The call that receives the next one into {@code words}, for the sake of {@code receive}. */
    static Call receivedFrom(int source, long sequence, long[] words, Call receive) {
        return call(sequence, OpKind.RECV, source, words, receive);
    }

    static long[] words() {
        return new long[WORDS];
    }

    static Envelope of(long[] words) {
        return new Envelope((int) words[0], TYPES[(int) words[1]], words[2], words[3] != 0);
    }

    private static Call call(long sequence, OpKind kind, int peer, long[] words, Call whole) {
        MemorySegment memory = MemorySegment.ofArray(words);
        return new Call(
                sequence,
                kind,
                DataType.I64,
                ReduceOp.SUM,
                WORDS,
                peer,
                memory,
                memory,
                whole.deadline(),
                null,
                null,
                whole);
    }

    long bytes() {
        return count * type.sizeBytes();
    }

    /** How messages name the send. */
    String describe(long sequence, int destination) {
        return Call.describe(sequence, OpKind.SEND, type, ReduceOp.SUM, amount(), destination);
    }

    /** Type and size for messages, in the place of a count. */
    String amount() {
        return (isObject ? "an object of " + count + " bytes" : Long.toString(count))
                + (tag == 0 ? "" : ", tag " + tag);
    }
}
