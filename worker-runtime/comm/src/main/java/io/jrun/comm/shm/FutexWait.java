package io.jrun.comm.shm;

import io.jrun.comm.CommException;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.LateRankWarning;
import io.jrun.comm.backend.ProgressThread;

/**
 * Waits for other ranks' words to grow: spinning, then asleep on a futex. Every wait looks at the group's health, the
 * control block's poison and its deadline. Thread-safe.
 *
 * <p>How long it spins: while there is a core for every local rank, about a millisecond, which no other rank misses; where
 * ranks outnumber cores, or on a progress thread, whose core the computation may want, about ten microseconds. Ranks that
 * outnumber cores pass the core on to each other in an operation of few bytes, which is quicker than to sleep and be
 * woken. In one of many bytes they sleep: the scheduler puts those that gave up their core behind those that compute.
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
     * Returns when the word has reached {@code target}; whether that took longer than a short spin.
     *
     * @param waiters address of the count of sleepers on this word
     * @param peer group rank of the one who writes the word
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

    @SuppressWarnings("ThreadPriorityCheck") // Whether it yields or not, the futex is what the wait relies on.
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
        // One counts, then reads the word; the other writes the word, then reads the count: one of them sees the other.
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

    /** Grows a word and wakes who sleeps on it. */
    static void publish(long word, long value, long waiters) {
        SharedWords.publish(word, value);
        if (SharedWords.latestInt(waiters) != 0) {
            SystemCalls.futexWake(word);
        }
    }

    private void check(long word, long target, int peer, Call call) {
        // First the cause that a peer has left here: it may have left its main because of that.
        CommException failure = poison.read();
        // Read after the cause is known: who left it had published all that it did before.
        if (failure != null && SharedWords.acquire(word) < target) {
            throw failure;
        }
        if (group.health().isImpaired()) {
            group.health().check();
            String how = group.health().departure(peer);
            // Read after the departure is known: what the peer did before it left is visible now or never.
            if (how != null && SharedWords.acquire(word) < target) {
                throw lost(peer, how, call);
            }
        }
        if (!call.kind().isMessage()) {
            mismatch.compareEntered(call);
        }
        long left = call.remainingNanos();
        if (late.isTime(call, left)) {
            late.look(call, left, positions.awaiting(call, peer));
        }
        if (left <= 0) {
            throw new CommException(
                    ErrorCode.COLLECTIVE_TIMEOUT,
                    call.describe() + " on group " + group.name() + " timed out after "
                            + call.timeout().toSeconds() + " s: " + group.describe(group.groupRank())
                            + " still waits for " + positions.awaited(call, peer)
                            + ". A rank may be slow, stopped, or somewhere else in its program."
                            + late.places(call, positions.wanted(call, peer)));
        }
    }

    private CommException lost(int peer, String how, Call call) {
        return new CommException(
                ErrorCode.PEER_LOST,
                group.describe(peer) + " " + how + " while " + group.describe(group.groupRank()) + " waited for it in "
                        + call.describe() + " on group " + group.name() + ". " + positions.all());
    }
}
