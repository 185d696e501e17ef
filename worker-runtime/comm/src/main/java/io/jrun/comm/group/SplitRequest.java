package io.jrun.comm.group;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.jrun.comm.GroupOptions;
import java.nio.ByteBuffer;

/**
 * What a rank says when its group is split: where it goes, and what it gives as options that must agree there.
 *
 * @param agreed those options as messages name them; as much of them as {@link #words} has room for
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

    /** What the rank at {@code groupRank} has said, of what all have, one behind the other. */
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
