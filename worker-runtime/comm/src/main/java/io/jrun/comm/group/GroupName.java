package io.jrun.comm.group;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/** Names of groups that are made from a list of ranks. Stateless. */
final class GroupName {
    /** The limit for a list of ranks. Names become parts of file names, and the kernel allows 255 bytes. */
    private static final int MAX_LENGTH = 60;

    private static final int HASH_BYTES = 8;

    private GroupName() {}

    /**
     * Returns a name such as {@code g0-3.7n2}: the second group of the ranks 0, 1, 2, 3 and 7. A hash replaces a long
     * list.
     *
     * @param count number of groups of this list so far, including this group
     */
    static String of(List<Integer> ranks, int count) {
        String ranges = ranges(ranks);
        return "g" + (ranges.length() <= MAX_LENGTH ? ranges : hash(ranges)) + "n" + count;
    }

    private static String ranges(List<Integer> ranks) {
        StringBuilder text = new StringBuilder();
        int from = 0;
        while (from < ranks.size()) {
            int to = from;
            while (to + 1 < ranks.size() && ranks.get(to + 1) == ranks.get(to) + 1) {
                to++;
            }
            text.append(from == 0 ? "" : ".").append(ranks.get(from));
            if (to > from) {
                text.append('-').append(ranks.get(to));
            }
            from = to + 1;
        }
        return text.toString();
    }

    private static String hash(String ranges) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(ranges.getBytes(UTF_8));
            return HexFormat.of().formatHex(digest, 0, HASH_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
