package io.jrun.launcher.doctor;

import java.util.ArrayList;
import java.util.List;

/**
 * All pairs of n hosts, in rounds in which each host is in at most one pair: a round-robin tournament by the circle
 * method. There are n - 1 rounds, or n if n is odd.
 */
final class RoundRobinPairs {
    private RoundRobinPairs() {}

    /** A pair of hosts, by number. */
    record Pair(int first, int second) {}

    static List<List<Pair>> rounds(int count) {
        int even = count + count % 2; // with an odd count, the partner of the additional number has a pause
        List<List<Pair>> rounds = new ArrayList<>();
        for (int round = 0; round < even - 1; round++) {
            List<Pair> pairs = new ArrayList<>();
            for (int i = 0; i < even / 2; i++) {
                int first = i == 0 ? even - 1 : (round + i) % (even - 1);
                int second = (round + even - 1 - i) % (even - 1);
                if (first < count && second < count) {
                    pairs.add(new Pair(Math.min(first, second), Math.max(first, second)));
                }
            }
            rounds.add(pairs);
        }
        return rounds;
    }
}
