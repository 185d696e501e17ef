package io.jrun.agent.log;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.ByteString;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.ConsoleReader;
import io.jrun.agent.Processes;
import io.jrun.agent.TestJob;
import io.jrun.agent.proto.ExecutableSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.LogChunk;
import io.jrun.agent.proto.LogCredit;
import io.jrun.agent.proto.ProgramSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class LogIntegrityTest {
    private static final int WRITERS = 8;
    private static final int LINES = 300;

    @TempDir
    Path folder;

    @Test
    void nothingIsTornOrLostOfEightWriters() throws Exception {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(writers(job));
            try (ConsoleReader console = new ConsoleReader(job, 1 << 18, true)) {
                for (int rank = 0; rank < WRITERS; rank++) {
                    byte[] expected = LogWriterMain.expected(rank, LINES);
                    assertThat(job.exited(rank).getExitCode()).isZero();
                    assertThat(console.awaitEnd(rank, false)).isEqualTo(ByteString.copyFrom(expected));
                    assertThat(Files.readAllBytes(job.rankDir(rank).resolve("stdout.log")))
                            .isEqualTo(Arrays.copyOf(expected, expected.length - 1));
                }
            }
        }
    }

    @Test
    void readerThatStopsHoldsUpNeitherWorkersNorControl() throws Exception {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(writers(job));
            try (ConsoleReader console = new ConsoleReader(job, 1, false)) {
                for (int rank = 0; rank < WRITERS; rank++) {
                    assertThat(job.exited(rank).getExitCode()).isZero();
                }
                assertThat(console.bytes()).isLessThanOrEqualTo(LineCutter.MAX_LINE_BYTES);
                console.grant(1 << 30);
                for (int rank = 0; rank < WRITERS; rank++) {
                    assertThat(console.awaitEnd(rank, false))
                            .isEqualTo(ByteString.copyFrom(LogWriterMain.expected(rank, LINES)));
                }
            }
        }
    }

    @Test
    void consoleShowsLinesWhileTheWorkerRuns() throws Exception {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(job.shells(1, "echo early; until [ -e '" + folder + "/go' ]; do sleep 0.05; done; printf late"));
            try (ConsoleReader console = new ConsoleReader(job, 1000, true)) {
                console.awaitBytes("early\n".length());
                Files.createFile(folder.resolve("go"));
                assertThat(console.awaitEnd(0, false).toStringUtf8()).isEqualTo("early\nlate\n");
                assertThat(console.awaitEnd(0, true)).isEqualTo(ByteString.EMPTY);
            }
        }
    }

    /** Seen as a deadlock: the console ended the stream under a lock that the delivery of a line was waiting for. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void consoleMayEndTheStreamWhileALineIsBeingDelivered() throws Exception {
        CountDownLatch delivering = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            job.launch(job.shells(1, "echo line"));
            StreamObserver<LogCredit> credit = job.stub().logs(new StreamObserver<>() {
                @Override
                public void onNext(LogChunk chunk) {
                    delivering.countDown();
                    Uninterruptibles.awaitUninterruptibly(ended);
                }

                @Override
                public void onError(Throwable failure) {}

                @Override
                public void onCompleted() {}
            });
            credit.onNext(
                    LogCredit.newBuilder().setJob(job.claim()).setBytes(1000).build());
            delivering.await();
            credit.onCompleted();
            ended.countDown();
            assertThat(job.exited(0).getExitCode()).isZero();
        }
    }

    @Test
    void consoleGetsOnlyTheRequestedStreams() throws Exception {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            LaunchRound.Builder launch = job.shells(2, "echo out; echo err >&2");
            launch.getWorkersBuilder(0).setConsoleStderr(false);
            launch.getWorkersBuilder(1).setConsoleStdout(false).setConsoleStderr(false);
            job.launch(launch);
            try (ConsoleReader console = new ConsoleReader(job, 1000, true)) {
                console.awaitEnd(0, false);
                job.exited(0);
                job.exited(1);
                assertThat(console.streams()).containsExactly("0.out");
                assertThat(job.stderr(1)).isEqualTo("err\n");
            }
        }
    }

    @Test
    void fullDiskDoesNotStopTheWorker() throws IOException {
        try (TestJob job = TestJob.inProcess(folder)) {
            job.open();
            Files.createDirectories(job.rankDir(0));
            Files.createSymbolicLink(job.rankDir(0).resolve("stdout.log"), Path.of("/dev/full"));
            job.launch(job.shells(1, "head -c 1000000 /dev/zero; echo done >&2"));
            assertThat(job.exited(0).getExitCode()).isZero();
            String notice = job.await(
                    message ->
                            message.hasNotice() && message.getNotice().getText().contains("output is lost"),
                    message -> message.getNotice().getText());
            assertThat(notice).contains("stdout.log cannot be written (No space left on device)");
            assertThat(Processes.isAlive(job.pid(0))).isFalse();
        }
    }

    private static LaunchRound.Builder writers(TestJob job) {
        return job.launch(WRITERS)
                .setProgram(ProgramSpec.newBuilder()
                        .setExecutable(
                                ExecutableSpec.newBuilder().setPath(System.getProperty("java.home") + "/bin/java"))
                        .addArgs("-XX:+UseSerialGC")
                        .addArgs("-XX:TieredStopAtLevel=1")
                        .addArgs("-cp")
                        .addArgs(System.getProperty("java.class.path"))
                        .addArgs(LogWriterMain.class.getName())
                        .addArgs("${rank}")
                        .addArgs(Integer.toString(LINES)));
    }
}
