package io.jrun.comm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;

/**
 * The seeds of randomized tests. Every run takes a few seeds and a part of the cases, different ones for each commit:
 * scripts/test sets {@code -Djrun.test.seed=N} from the commit, and the same N repeats the run.
 * {@code -Djrun.soak=true} runs many seeds and all cases. {@code -Djrun.seed=N} runs one seed.
 */
public final class Seeds {
    private static final long OF_RUN = Long.getLong("jrun.test.seed", 1);

    private Seeds() {}

    /** The seeds of this run: {@code few}, or {@code many} in a long one. */
    public static LongStream of(int few, int many) {
        Long only = Long.getLong("jrun.seed");
        if (only != null) {
            return LongStream.of(only);
        }
        return isSoak() ? LongStream.rangeClosed(1, many) : LongStream.range(OF_RUN, OF_RUN + few);
    }

    /** The first {@code count} of {@code all} in their order, or all in a long run. */
    public static <T> List<T> sample(List<T> all, int count) {
        if (isSoak()) {
            return all;
        }
        List<Integer> places = new ArrayList<>();
        for (int place = 0; place < all.size(); place++) {
            places.add(place);
        }
        Collections.shuffle(places, new Random(OF_RUN));
        return places.stream().limit(count).sorted().map(all::get).toList();
    }

    /** A number from 0 to {@code bound - 1} that another run does not have. */
    public static int offset(int bound) {
        return isSoak() ? 0 : (int) Math.floorMod(OF_RUN, (long) bound);
    }

    private static boolean isSoak() {
        return Boolean.getBoolean("jrun.soak");
    }
}
