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

/** Where the ranks are that somebody waits for in one operation: asked, not waited for. Thread-safe. */
final class LateRankLocations {
    /** In a group of thousands, these few say enough, and nobody is flooded with questions. */
    static final int MAX_ASKED = 16;

    private static final int MAX_STACKS = 3;

    /** An agent that waits in vain for its worker has said so by then. */
    private static final Duration ANSWERED = Duration.ofMillis(1200);

    private final GroupContext group;
    private final Call call;
    private final List<Integer> asked;
    private final List<CompletableFuture<RankRecord>> answers = new ArrayList<>();
    private final Deadline answered = Deadline.after(ANSWERED);

    /**
     * Asks.
     *
     * @param ranks group ranks; this one is not asked
     */
    LateRankLocations(GroupContext group, Call call, List<Integer> ranks) {
        this.group = group;
        this.call = call.copy(); // Answers may come when it is over.
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

    /** Runs {@code then} on another thread once all have answered. */
    void whenAnswered(Runnable then) {
        CompletableFuture<Void> _ = CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                .whenComplete((_, _) -> {
                    var _ = RuntimeThread.start("late-warning", then);
                });
    }

    /** Waits for answers that are still out and may come. */
    void await(long nanos) {
        try {
            CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
                    .get(Math.min(nanos, answered.remainingNanos()), TimeUnit.NANOSECONDS);
        } catch (ExecutionException | TimeoutException _) {
            return; // What has come has come.
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether somebody of a lower rank is in the operation, who says the same. */
    boolean areToldByAnother() {
        for (int i = 0; i < asked.size(); i++) {
            RankRecord location = answer(i);
            if (location != null && isInside(location) && asked.get(i) < group.groupRank()) {
                return true;
            }
        }
        return false;
    }

    /**
     * The answers so far, of those who are not in the operation first; each on lines of its own, with at most
     * {@code maxChars} in all. Empty if there are none.
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

    /** In the collective of that number, and in the same: where calls differ, no two ranks may have compared them yet. */
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
