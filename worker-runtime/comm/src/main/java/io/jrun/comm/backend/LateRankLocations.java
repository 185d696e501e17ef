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
import org.jspecify.annotations.Nullable;

/** The records of the ranks for which one operation waits. Asks for the records and does not wait. Thread-safe. */
final class LateRankLocations {
    /** Bounds the number of questions in a group of thousands. */
    static final int MAX_ASKED = 16;

    private static final int MAX_STACKS = 3;

    /** An agent has answered by then, also if its worker does not. */
    private static final Duration ANSWERED = Duration.ofMillis(1200);

    private final GroupContext group;
    private final Call call;
    private final List<Integer> asked;
    private final List<CompletableFuture<RankRecord>> answers = new ArrayList<>();
    private final Deadline answered = Deadline.after(ANSWERED);

    /**
     * Asks for the records.
     *
     * @param ranks group ranks; this one is not asked
     */
    LateRankLocations(GroupContext group, Call call, List<Integer> ranks) {
        this.group = group;
        this.call = call.copy(); // Answers may come after the end of the operation.
        this.asked = ranks.stream()
                .filter(rank -> rank != group.groupRank())
                .distinct()
                .limit(MAX_ASKED)
                .toList();
        for (int rank : asked) {
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

    /** Waits for the missing answers, {@code nanos} at most. */
    void await(long nanos) {
        try {
            CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                    .get(Math.min(nanos, answered.remainingNanos()), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException _) {
            return; // text() has the answers so far.
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether a rank with a lower number is in the operation and prints the same warning. */
    boolean isToldByLowerRank() {
        for (int i = 0; i < asked.size(); i++) {
            RankRecord location = answer(i);
            if (location != null && isInside(location) && asked.get(i) < group.groupRank()) {
                return true;
            }
        }
        return false;
    }

    /**
     * The answers so far, {@code maxChars} at most. Has the ranks outside the operation; if there are none, the ranks inside. Empty
     * without answers.
     */
    String text(int maxChars) {
        List<Integer> outside = new ArrayList<>();
        List<Integer> inside = new ArrayList<>();
        for (int i = 0; i < asked.size(); i++) {
            RankRecord location = answer(i);
            if (location != null) {
                (isInside(location) ? inside : outside).add(i);
            }
        }
        List<Integer> told = outside.isEmpty() ? inside : outside;
        int shown = Math.min(told.size(), MAX_STACKS);
        StringBuilder text = new StringBuilder();
        for (int i : told.subList(0, shown)) {
            StringBuilder one = new StringBuilder();
            tell(one, i, maxChars / shown);
            text.append(one);
        }
        if (told.size() > shown) {
            text.append("\n  and ").append(told.size() - shown).append(" ranks more");
        }
        if (!outside.isEmpty() && !inside.isEmpty()) {
            text.append("\n  in it as well: ").append(names(inside));
        }
        return text.toString();
    }

    private void tell(StringBuilder text, int i, int maxChars) {
        RankRecord location = answer(i);
        if (location == null) {
            return;
        }
        text.append("\n  ").append(group.describe(asked.get(i))).append(' ').append(location.place(group.name()));
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

    /** Whether the rank is in the collective of that number, and has made the same call. The data plane compares calls later. */
    private boolean isInside(RankRecord rank) {
        Call own = call.asCalled();
        String text = Fingerprint.describe(own.sequence(), Fingerprint.of(own), own.count());
        return rank.isIn(group.name(), own.sequence())
                && rank.collective(group.name(), own.sequence())
                        .filter(operation -> operation.call().equals(text))
                        .isPresent();
    }

    private String names(List<Integer> places) {
        return String.join(
                ", ",
                places.stream()
                        .map(i -> "rank " + group.members().get(asked.get(i)).rank())
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
