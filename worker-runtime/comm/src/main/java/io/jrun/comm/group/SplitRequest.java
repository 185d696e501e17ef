package io.jrun.comm.group;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.GroupOptions;
import java.nio.ByteBuffer;

/**
 * The arguments of one rank for a split of its group.
 *
 * @param agreed text of the options that must be equal in the new group; truncated to the length of {@link #words}
 */
record SplitRequest(long color, long key, String agreed) {
    /** Length of {@link #words}. */
    static final int WORDS = 2 + 16;

    static SplitRequest of(int color, int key, GroupOptions options) {
        String algorithm = options.algorithm().isEmpty() ? "chosen by size" : options.algorithm();
        String agreed = "deterministic " + options.deterministic() + ", compared " + options.compared() + ", backend "
                + options.backend() + ", algorithm " + algorithm;
        return new SplitRequest(color, key, agreed);
    }

    /** Returns the request of the rank at {@code groupRank} from the contiguous requests of all ranks. */
    static SplitRequest of(long[] all, int groupRank) {
        ByteBuffer words = ByteBuffer.allocate(WORDS * Long.BYTES);
        words.asLongBuffer().put(all, groupRank * WORDS, WORDS);
        long color = words.getLong();
        long key = words.getLong();
        return new SplitRequest(color, key, UTF_8.decode(words).toString().trim());
    }

    long[] words() {
        ByteBuffer words =
                ByteBuffer.allocate(WORDS * Long.BYTES).putLong(color).putLong(key);
        byte[] text = agreed.getBytes(UTF_8);
        words.put(text, 0, Math.min(text.length, words.remaining())).rewind();
        long[] result = new long[WORDS];
        words.asLongBuffer().get(result);
        return result;
    }
}
