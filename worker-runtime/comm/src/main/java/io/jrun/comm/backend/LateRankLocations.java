package io.jrun.comm.backend;

import io.jrun.comm.control.RuntimeThread;
import io.jrun.comm.record.RankRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The records of the ranks for which one operation waits. Requests the records and does not wait. Thread-safe. */
final class LateRankLocations {
    /** The limit of requests in a group of thousands of ranks. */
    static final int MAX_RANKS = 16;

    private static final int MAX_STACKS = 3;

    /** The limit of named ranks in the first line of an error. */
    private static final int MAX_NAMED = 8;

    private static final String ABSENT = "did not come";

    /** The time after which every agent has answered, even for a worker that does not answer. */
    private static final Duration ANSWER_TIMEOUT = Duration.ofMillis(1200);

    private final GroupContext group;
    private final Call call;
    private final List<Integer> requested;
    private final List<CompletableFuture<RankRecord>> answers = new ArrayList<>();
    private final Deadline answerDeadline = Deadline.after(ANSWER_TIMEOUT);

    /**
     * Requests the records.
     *
     * @param ranks group ranks; this rank is skipped
     */
    LateRankLocations(GroupContext group, Call call, List<Integer> ranks) {
        this.group = group;
        this.call = call.copy(); // Answers may come after the end of the operation.
        this.requested = ranks.stream()
                .filter(rank -> rank != group.groupRank())
                .distinct()
                .limit(MAX_RANKS)
                .toList();
        for (int rank : requested) {
            int worldRank = group.members().get(rank).rank();
            answers.add(group.world()
                    .locator()
                    .locate(worldRank, group.name(), call.asCalled().sequence()));
        }
    }

    /** Runs {@code then} on another thread after the last answer. */
    void whenAnswered(Runnable then) {
        CompletableFuture<Void> _ = CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .whenComplete((_, _) -> {
                    var _ = RuntimeThread.start("late-warning", then);
                });
    }

    /** Waits at most {@code nanos} for the missing answers. */
    void await(long nanos) {
        try {
            CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                    .get(Math.min(nanos, answerDeadline.remainingNanos()), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException _) {
            return; // text() has the answers so far.
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether a rank with a lower number is in the operation and prints the same warning. */
    boolean isPrintedByLowerRank() {
        for (int i = 0; i < requested.size(); i++) {
            RankRecord location = answer(i);
            if (location != null && isInside(location) && requested.get(i) < group.groupRank()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns a clause that names the ranks that did not come to the operation: the ranks that the backend knows, else
     * the ranks that have answered from outside the operation. Empty if neither names a rank.
     *
     * @param missing group ranks that have not entered the operation, as far as the backend knows them
     */
    String late(List<Integer> missing) {
        List<Integer> ranks = missing;
        if (ranks.isEmpty()) {
            ranks = IntStream.range(0, requested.size())
                    .filter(i -> {
                        RankRecord location = answer(i);
                        return location != null && !isInside(location);
                    })
                    .mapToObj(requested::get)
                    .toList();
        }
        List<String> parts = new ArrayList<>();
        ranks.stream()
                .limit(MAX_NAMED)
                .forEach(rank -> parts.add(group.describe(rank) + " " + (hasStopped(rank) ? reason(rank) : ABSENT)));
        return String.join("; ", parts)
                + (ranks.size() > MAX_NAMED ? "; and " + (ranks.size() - MAX_NAMED) + " more" : "");
    }

    private boolean hasStopped(int groupRank) {
        return !reason(groupRank).isEmpty();
    }

    /** Returns the predicate of a rank whose process does not answer, such as a stopped process; else empty. */
    private String reason(int groupRank) {
        int i = requested.indexOf(groupRank);
        RankRecord location = i < 0 ? null : answer(i);
        return location == null || location.isKnown() ? "" : location.reason();
    }

    /**
     * Returns the answers so far in at most {@code maxChars} characters: the ranks outside the operation, or the ranks
     * inside if no rank is outside. Empty without answers.
     */
    String text(int maxChars) {
        List<Integer> outside = new ArrayList<>();
        List<Integer> inside = new ArrayList<>();
        for (int i = 0; i < requested.size(); i++) {
            RankRecord location = answer(i);
            if (location != null) {
                (isInside(location) ? inside : outside).add(i);
            }
        }
        List<Integer> listed = outside.isEmpty() ? inside : outside;
        int shown = Math.min(listed.size(), MAX_STACKS);
        StringBuilder text = new StringBuilder();
        for (int i : listed.subList(0, shown)) {
            StringBuilder one = new StringBuilder();
            append(one, i, maxChars / shown);
            text.append(one);
        }
        if (listed.size() > shown) {
            text.append("\n  and ").append(listed.size() - shown).append(" ranks more");
        }
        if (!outside.isEmpty() && !inside.isEmpty()) {
            text.append("\n  also in the operation: ").append(names(inside));
        }
        return text.toString();
    }

    private void append(StringBuilder text, int i, int maxChars) {
        RankRecord location = answer(i);
        if (location == null) {
            return;
        }
        text.append("\n  ").append(group.describe(requested.get(i))).append(' ').append(location.place(group.name()));
        if (location.stack().isEmpty()) {
            return;
        }
        List<String> lines = location.stack().lines().toList();
        for (int line = 0; line < lines.size(); line++) {
            if (text.length() + lines.get(line).length() > maxChars) {
                text.append("\n    ... ").append(lines.size() - line).append(" lines more");
                return;
            }
            text.append("\n    ").append(lines.get(line));
        }
    }

    /**
     * Whether the rank is in the collective of this sequence with an equal call. The data plane compares calls later.
     */
    private boolean isInside(RankRecord rank) {
        Call own = call.asCalled();
        String text = Fingerprint.describe(own.sequence(), Fingerprint.of(own), own.count());
        return rank.isIn(group.name(), own.sequence())
                && rank.collective(group.name(), own.sequence())
                        .filter(operation -> operation.call().equals(text))
                        .isPresent();
    }

    private String names(List<Integer> indexes) {
        return String.join(
                ", ",
                indexes.stream()
                        .map(i ->
                                "rank " + group.members().get(requested.get(i)).rank())
                        .toList());
    }

    private @Nullable RankRecord answer(int i) {
        try {
            return answers.get(i).getNow(null);
        } catch (CompletionException | CancellationException _) {
            return null;
        }
    }
}
