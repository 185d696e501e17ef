package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Workers that read the standard input of jrun. */
class StdinIT extends RealJobs {
    /** Runs the following words with the file $0 as stdin. */
    private static final String FROM_FILE = "file=$0; exec \"$@\" < \"$file\"";

    /** Writes endlessly into the pipe of a job, and then prints the length of what was written. */
    private static final String ENDLESS = "{ echo first; exec cat /dev/zero; } | \"$@\"; exit ${PIPESTATUS[1]}";

    /** Starts the following words as a background job of a terminal, and prints how the job has ended. */
    private static final String BACKGROUND = """
            import os, pty, sys
            pid, terminal = pty.fork()
            if pid == 0:
                os.execvp('bash', ['bash', '-c', 'set -m; "$@" & wait $!; echo code $?', 'bash', *sys.argv[1:]])
            while True:
                try:
                    data = os.read(terminal, 4096)
                except OSError:
                    break
                if not data:
                    break
                os.write(1, data)
            """;

    private Path input() throws IOException {
        byte[] bytes = new byte[1_000_003]; // more than all buffers on the way, with each value of a byte
        new Random(7).nextBytes(bytes);
        return Files.write(folder.resolve("input"), bytes);
    }

    private Running reading(Path input, String... words) {
        return jrun.startUnder(List.of("bash", "-c", FROM_FILE, input.toString()), words);
    }

    @Test
    void oneRankReadsEveryByteAndTheOthersReadNone() throws IOException {
        Path input = input();
        Result result = reading(input, "--nproc-per-node=2", "--stdin=1", "sh", "-c", "cat > read-$RANK")
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(folder.resolve("read-1")).hasSameBinaryContentAs(input);
        assertThat(folder.resolve("read-0")).hasSize(0);
    }

    @Test
    void allRanksOfTwoNodesReadACopyAndARankThatEndsHoldsBackNobody() throws IOException {
        Path input = input();
        String program = "[ $RANK = 2 ] || exec cat > read-$RANK";
        String endpoint = "--rdzv-endpoint=localhost:" + RendezvousIT.freePort();
        String[] words = {"--nnodes=2", endpoint, "--rdzv-id=reading", "--stdin=all"};
        Running joined =
                jrun.start(StandingAgent.join(words, "--node-rank=1", "--nproc-per-node=2", "sh", "-c", program));
        Result hosting = reading(input, StandingAgent.join(words, "--node-rank=0", "sh", "-c", program))
                .await();
        assertThat(hosting.exitCode()).as(hosting.err()).isZero();
        assertThat(joined.await().exitCode()).isZero();
        assertThat(folder.resolve("read-0")).hasSameBinaryContentAs(input);
        assertThat(folder.resolve("read-1")).hasSameBinaryContentAs(input);
    }

    @Test
    void theJobEndsWithItsWorkersAlsoIfTheInputDoesNotEnd() {
        Result result = jrun.startUnder(
                        List.of("bash", "-c", ENDLESS, "bash"),
                        "--nproc-per-node=2",
                        "--stdin=0",
                        "sh",
                        "-c",
                        "[ $RANK = 1 ] || { read line; echo $line; }")
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).endsWith("] first\n");
    }

    /** The first file that a JVM opens would get the number of a closed stream, and so be the input. */
    @Test
    void aClosedInputIsEmpty() {
        Result result = jrun.startUnder(List.of("bash", "-c", "exec \"$@\" <&-", "bash"), "--stdin=0", "wc", "-c")
                .await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).endsWith("] 0\n");
    }

    @Test
    void aTerminalDoesNotStopAJobInTheBackground() {
        Result result = jrun.startUnder(List.of("python3", "-c", BACKGROUND), "--stdin=0", "sh", "-c", "echo ran")
                .await();
        assertThat(result.out()).as(result.err()).contains("ran").contains("code 0");
    }
}
