package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.LateRankWarning;
import io.jrun.comm.backend.ProgressThread;

/**
 * Waits until a word of another rank reaches a value: first spinning, then asleep on a futex. Every wait checks the
 * group's health, the poison of the control block and the deadline. Thread-safe.
 *
 * <p>The length of the spin: about a millisecond if there is a core for every local rank; about ten microseconds if
 * ranks outnumber cores, or on a progress thread, whose core the computation may need. If ranks outnumber cores, a rank
 * in an operation of few bytes yields its core to the others, which is faster than a sleep and a wake-up. In an
 * operation of many bytes the rank sleeps, because the scheduler places threads that have yielded behind computing
 * threads.
 */
final class FutexWait {
    private static final int SHORT_SPINS = 200;
    private static final int LONG_SPINS = 20_000;
    private static final int SPINS_BETWEEN_CHECKS = 64;
    private static final int SPINS_BEFORE_YIELDS = 20;
    private static final int YIELDS = 20;
    private static final int FEW_BYTES = 4096;

    private final GroupContext group;
    private final SharedFailure poison;
    private final MismatchCheck mismatch;
    private final RankPositions positions;
    private final LateRankWarning late;
    private final boolean coreForEachRank;

    FutexWait(
            GroupContext group,
            SharedFailure poison,
            MismatchCheck mismatch,
            RankPositions positions,
            LateRankWarning late) {
        this.group = group;
        this.poison = poison;
        this.mismatch = mismatch;
        this.positions = positions;
        this.late = late;
        this.coreForEachRank = group.world().hasCoreForEachLocalRank();
    }

    /**
     * Returns when the word has reached {@code target}. Returns whether the wait took longer than a short spin.
     *
     * @param waiters address of the count of sleeping threads for this word
     * @param peer group rank that writes the word
     */
    boolean until(long word, long target, long waiters, int peer, Call call) {
        boolean yields = passesCoreOn(call);
        int first = yields ? SPINS_BEFORE_YIELDS : SPINS_BETWEEN_CHECKS;
        for (int spin = 0; spin < first; spin++) {
            if (SharedWords.acquire(word) >= target) {
                return false;
            }
            Thread.onSpinWait();
        }
        boolean reached = yields ? isAfterYields(word, target) : isAfterSpins(word, target, peer, call);
        if (!reached) {
            sleepUntil(word, target, waiters, peer, call);
        }
        return true;
    }

    @SuppressWarnings("ThreadPriorityCheck") // The wait is correct without the yield, because the futex follows.
    private static boolean isAfterYields(long word, long target) {
        for (int yield = 0; yield < YIELDS; yield++) {
            Thread.yield();
            if (SharedWords.acquire(word) >= target) {
                return true;
            }
        }
        return false;
    }

    private boolean isAfterSpins(long word, long target, int peer, Call call) {
        boolean hasCore = coreForEachRank && !(Thread.currentThread() instanceof ProgressThread);
        int spins = hasCore ? LONG_SPINS : SHORT_SPINS;
        for (int spin = 0; spin < spins; spin++) {
            if (SharedWords.acquire(word) >= target) {
                return true;
            }
            if (spin % SPINS_BETWEEN_CHECKS == 0) {
                check(word, target, peer, call);
            }
            Thread.onSpinWait();
        }
        return false;
    }

    private boolean passesCoreOn(Call call) {
        return !coreForEachRank
                && !call.kind().isMessage()
                && call.count() * call.type().sizeBytes() <= FEW_BYTES
                && !(Thread.currentThread() instanceof ProgressThread);
    }

    private void sleepUntil(long word, long target, long waiters, int peer, Call call) {
        // The waiter counts itself, then reads the word. The writer writes the word, then reads the count. One sees the
        // other.
        int _ = SharedWords.add(waiters, 1);
        try {
            for (long seen = SharedWords.latest(word); seen < target; seen = SharedWords.latest(word)) {
                check(word, target, peer, call);
                SystemCalls.futexAwait(word, (int) seen);
            }
        } finally {
            int _ = SharedWords.add(waiters, -1);
        }
    }

    /** Increases a word and wakes the threads that sleep on it. */
    static void publish(long word, long value, long waiters) {
        SharedWords.publish(word, value);
        if (SharedWords.latestInt(waiters) != 0) {
            SystemCalls.futexWake(word);
        }
    }

    private void check(long word, long target, int peer, Call call) {
        // First check the cause that a peer has written: the peer may have left main because of that cause.
        CommException failure = poison.read();
        // Read the word after the cause: the writer of the cause has published all its earlier data.
        if (failure != null && SharedWords.acquire(word) < target) {
            throw failure;
        }
        if (group.health().isImpaired()) {
            group.health().check();
            String how = group.health().departure(peer);
            // Read the word after the departure: all data of the peer from before its departure is visible now.
            if (how != null && SharedWords.acquire(word) < target) {
                throw lost(peer, how, call);
            }
        }
        if (!call.kind().isMessage()) {
            mismatch.compareEntered(call);
        }
        long left = call.remainingNanos();
        if (late.isTime(call, left)) {
            late.check(call, left, positions.awaiting(call, peer));
        }
        if (left <= 0) {
            throw late.timedOut(call, positions.awaiting(call, peer));
        }
    }

    private CommException lost(int peer, String how, Call call) {
        return new CommException(
                ErrorCode.PEER_LOST,
                group.describe(peer) + " " + how + " while " + group.describe(group.groupRank()) + " waited for it in "
                        + call.describe() + " on " + group.label() + ". " + positions.all());
    }
}
