package io.jrun.comm.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The memory order between a sleeper and its waker. The waker writes a word, then checks for sleepers. The sleeper
 * counts itself, then reads the word. If neither saw the other, a wake-up would be lost.
 */
@Timeout(60)
class SharedWordsTest {
    /** With a weaker write some 300 of these lose their wake-up on two busy x86 cores. */
    private static final int ROUNDS = Boolean.getBoolean("jrun.soak") ? 10_000_000 : 100_000;

    private static final int CACHE_LINE = 64;
    private static final int DELAYS = 32;
    private static final int SPINS_BETWEEN_YIELDS = 1024;

    @Test
    void aWakerSeesTheSleeperOrTheSleeperSeesTheWord() throws Exception {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "one processor: nothing runs at once");
        try (Arena arena = Arena.ofShared()) {
            long word = arena.allocate(5 * CACHE_LINE, CACHE_LINE).address();
            long sleepers = word + CACHE_LINE;
            long begun = word + 2 * CACHE_LINE;
            long ended = word + 3 * CACHE_LINE;
            long sawWord = word + 4 * CACHE_LINE;
            Thread sleeper = Thread.ofPlatform().daemon().start(() -> {
                for (int round = 1; round <= ROUNDS; round++) {
                    await(begun, round);
                    int _ = SharedWords.add(sleepers, 1);
                    SharedWords.plain(sawWord, SharedWords.latest(word));
                    SharedWords.release(ended, round);
                }
            });
            int lost = 0;
            for (int round = 1; round <= ROUNDS; round++) {
                SharedWords.plain(word, 0);
                SharedWords.publishInt(sleepers, 0);
                SharedWords.release(begun, round);
                for (int delay = round % DELAYS; delay > 0; delay--) {
                    Thread.onSpinWait();
                }
                SharedWords.publish(word, 1);
                boolean sawSleeper = SharedWords.latestInt(sleepers) != 0;
                await(ended, round);
                lost += sawSleeper || SharedWords.plain(sawWord) != 0 ? 0 : 1;
            }
            sleeper.join();
            assertThat(lost).as("wake-ups lost of " + ROUNDS).isZero();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // On one busy core the other thread would not come.
    private static void await(long counter, long value) {
        for (int spin = 1; SharedWords.acquire(counter) < value; spin++) {
            Thread.onSpinWait();
            if (spin % SPINS_BETWEEN_YIELDS == 0) {
                Thread.yield();
            }
        }
    }
}
