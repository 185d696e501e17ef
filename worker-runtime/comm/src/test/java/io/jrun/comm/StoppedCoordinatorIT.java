package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A rank that waits for a dead or stopped rank fails soon after that is known, even if the launcher is stopped too. */
@Timeout(120)
class StoppedCoordinatorIT {
    private static final int TIMEOUT_SECONDS = 3;

    /** 0.9 s of waits without an answer, plus a reserve for a busy machine. */
    private static final long SOON_MILLIS = 5000;

    /** Ranks 0 and 1 make a call that rank 2 does not make, after a file exists. */
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
                System.out.println("calls at " + System.currentTimeMillis());
                try {
                    world.group().allReduce(data, DataType.F32, 100, ReduceOp.SUM);
                } catch (CommException failure) {
                    System.out.println(failure.code() + " at " + System.currentTimeMillis());
                }
            }
        }
    }

    @Test
    void waitingRanksFailSoonAfterTheDeadline() throws Exception {
        try (TestAgent agent = new TestAgent(3, TransportKind.TCP)) {
            agent.setTimeoutSeconds(TIMEOUT_SECONDS);
            Process last = startWithStoppedLauncher(agent);
            assertThat(new ProcessBuilder("kill", "-STOP", Long.toString(last.pid()))
                            .start()
                            .waitFor())
                    .isZero();
            for (int rank = 0; rank < 2; rank++) {
                long deadline = millis(agent, rank, "calls at ") + TimeUnit.SECONDS.toMillis(TIMEOUT_SECONDS);
                assertThat(millis(agent, rank, "COLLECTIVE_TIMEOUT at ") - deadline)
                        .isBetween(0L, SOON_MILLIS);
            }
        }
    }

    @Test
    void waitingRanksFailSoonAfterTheLossOfAPeer() throws Exception {
        try (TestAgent agent = new TestAgent(3, TransportKind.TCP)) {
            failSoonAfterTheKill(agent);
        }
    }

    @Test
    void ranksOfANodeFailSoonAfterTheLossOfAnother() throws Exception {
        try (TestAgent agent = new TestAgent(List.of(2, 1))) {
            failSoonAfterTheKill(agent);
        }
    }

    private static void failSoonAfterTheKill(TestAgent agent) throws Exception {
        Process last = startWithStoppedLauncher(agent);
        long killed = System.currentTimeMillis();
        last.destroyForcibly();
        for (int rank = 0; rank < 2; rank++) {
            assertThat(millis(agent, rank, "PEER_LOST at ") - killed).isBetween(0L, SOON_MILLIS);
        }
    }

    /** Returns the process that the other two ranks wait for. */
    private static Process startWithStoppedLauncher(TestAgent agent) throws Exception {
        Path go = agent.directory().resolve("go");
        List<Process> ranks = agent.start(WaitsForRankTwo.class, List.of(), go.toString());
        for (int rank = 0; rank < 3; rank++) {
            agent.awaitOutput(rank, "ready");
        }
        agent.standStill();
        Files.createFile(go);
        for (int rank = 0; rank < 2; rank++) {
            agent.awaitOutput(rank, "calls at ");
        }
        return ranks.get(2);
    }

    private static long millis(TestAgent agent, int rank, String text) throws IOException, InterruptedException {
        agent.awaitOutput(rank, text);
        Matcher line = Pattern.compile(text + "(\\d+)").matcher(agent.output(rank));
        assertThat(line.find()).as(agent.output(rank)).isTrue();
        return Long.parseLong(line.group(1));
    }
}
