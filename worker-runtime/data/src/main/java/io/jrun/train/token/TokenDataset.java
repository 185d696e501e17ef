package io.jrun.train.token;

import io.jrun.train.data.Dataset;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * Tokens cut into windows. A sample has {@code context + 1} tokens: the last token of a window is the first of the next
 * window, so each token but the first is predicted once. The rest of a file that is no whole window is left out.
 * Thread-safe.
 */
public final class TokenDataset implements Dataset<long[]> {
    private final List<TokenRange> ranges;
    private final int context;
    /** The number of windows before each range, and of all at the end. */
    private final long[] firstWindow;

    private TokenDataset(List<TokenRange> ranges, int context) {
        this.ranges = ranges;
        this.context = context;
        this.firstWindow = new long[ranges.size() + 1];
        for (int i = 0; i < ranges.size(); i++) {
            firstWindow[i + 1] = firstWindow[i] + Math.max(0, (ranges.get(i).count() - 1) / context);
        }
    }

    /** Tokens of a file, from {@code begin}. */
    public record TokenRange(TokenFile file, long begin, long count) {
        /** Checks the range. */
        public TokenRange {
            if (begin < 0 || count < 0 || begin > file.size() - count) {
                throw new IllegalArgumentException(
                        file.path() + " has " + file.size() + " tokens, not " + count + " from token " + begin);
            }
        }
    }

    /** The windows of ranges, one range after the other. The files stay open. */
    public static TokenDataset of(List<TokenRange> ranges, int context) {
        if (context < 1) {
            throw new IllegalArgumentException("the context must be at least 1 token, was " + context);
        }
        return new TokenDataset(List.copyOf(ranges), context);
    }

    /** The windows of all tokens of a file. */
    public static TokenDataset of(TokenFile file, int context) {
        return of(List.of(new TokenRange(file, 0, file.size())), context);
    }

    @Override
    public long size() {
        return firstWindow[ranges.size()];
    }

    @Override
    public long[] get(long index) throws IOException {
        int range = range(index);
        return ranges.get(range).file().read(position(range, index), context + 1);
    }

    @Override
    public String location(long index) {
        int range = range(index);
        long first = position(range, index);
        return ranges.get(range).file().path() + ", tokens " + first + " to " + (first + context);
    }

    private int range(long index) {
        if (index < 0 || index >= size()) {
            throw new IndexOutOfBoundsException("sample " + index + " of " + size());
        }
        int found = Arrays.binarySearch(firstWindow, index);
        int range = found >= 0 ? found : -found - 2;
        while (firstWindow[range + 1] == firstWindow[range]) { // a range without a whole window
            range++;
        }
        return range;
    }

    private long position(int range, long index) {
        return ranges.get(range).begin() + (index - firstWindow[range]) * context;
    }
}
