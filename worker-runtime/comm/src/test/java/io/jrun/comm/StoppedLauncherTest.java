package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who waits for a rank that stands still fails soon after the deadline, though the launcher stands still as well. */
@Timeout(120)
class StoppedLauncherTest {
    private static final int TIMEOUT_SECONDS = 3;

    /** Ranks 0 and 1 call what rank 2 does not, once there is a file. */
    public static final class WaitsForRankTwo {
        private WaitsForRankTwo() {}

        /** Entry point. */
        public static void main(String[] args) throws InterruptedException {
            try (World world = Distributed.init()) {
                MemorySegment data = MemorySegment.ofArray(new float[100]);
                world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                System.out.println("ready");
                while (world.rank() == 2 || !Files.exists(Path.of(args[0]))) {
                    Thread.sleep(10);
                }
                long begun = System.nanoTime();
                try {
                    world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                } catch (CommException failure) {
                    long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
                    System.out.println(failure.code() + " after " + millis + " ms");
                }
            }
        }
    }

    @Test
    void waitingRanksFailSoonAfterTheDeadline() throws Exception {
        try (TestAgent agent = new TestAgent(3, TransportKind.TCP)) {
            agent.setTimeoutSeconds(TIMEOUT_SECONDS);
            Path go = agent.directory().resolve("go");
            List<Process> ranks = agent.start(WaitsForRankTwo.class, List.of(), go.toString());
            for (int rank = 0; rank < 3; rank++) {
                agent.awaitOutput(rank, "ready");
            }
            assertThat(new ProcessBuilder(
                                    "kill", "-STOP", Long.toString(ranks.get(2).pid()))
                            .start()
                            .waitFor())
                    .isZero();
            agent.answerNothing();
            Files.createFile(go);
            for (int rank = 0; rank < 2; rank++) {
                agent.awaitOutput(rank, "COLLECTIVE_TIMEOUT after ");
                Matcher line = Pattern.compile("after (\\d+) ms").matcher(agent.output(rank));
                assertThat(line.find()).isTrue();
                // 0.9 s of waiting in vain; and what a busy machine takes.
                assertThat(Integer.parseInt(line.group(1)) - 1000 * TIMEOUT_SECONDS)
                        .isBetween(0, 1500);
            }
        }
    }
}
