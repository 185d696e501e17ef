package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.jrun.agent.ConsoleReader;
import io.jrun.agent.Processes;
import io.jrun.agent.TestJob;
import io.jrun.agent.control.TestWorker;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.NodeJoinedReport;
import io.jrun.agent.proto.RegroupRound;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerParkedReport;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The workers are shells that sleep; this JVM speaks on the socket for them. */
@Timeout(120)
class ElasticRoundTest {
    private static final int SIGTERM = 15;
    private static final int KILLED = 128 + 9;
    private static final int LONG_GRACE_MILLIS = 60_000;
    private static final String SLEEP = "echo \"$JRUN_AGENT_SOCKET\"; exec sleep 300";

    @TempDir
    Path folder;

    private TestJob job;
    private Path socket;

    @BeforeEach
    void launch() throws IOException {
        job = TestJob.inProcess(folder);
        job.open();
        job.launch(job.shells(2, SLEEP));
        job.pid(0);
        job.pid(1);
        job.awaitStdout(0, "\n");
        socket = Path.of(job.stdout(0).strip());
    }

    @AfterEach
    void close() {
        job.close();
    }

    @Test
    void parkedWorkersContinueInTheNextRoundAndOtherWorkersAreReplaced() throws Exception {
        try (ConsoleReader console = new ConsoleReader(job, 1 << 20, true);
                TestWorker one = elastic(1)) {
            kill(job.pid(0));
            stop(LONG_GRACE_MILLIS);
            one.send(new Frame.Parked("rank 0 is lost"));
            assertThat(parked(1))
                    .isEqualTo(WorkerParkedReport.newBuilder()
                            .setRank(1)
                            .setRound(1)
                            .setPid(job.pid(1))
                            .setWhy("rank 0 is lost")
                            .build());
            assertThat(exited(0, 1).getExitCode()).isEqualTo(KILLED);

            job.launch(next(job.shells(2, "echo new; exec sleep 300"), 1));
            assertThat(one.await(Frame.NextRound.class)).isEqualTo(new Frame.NextRound(2, 1, 1, 2, 1, 2, 0, 1));
            long pid = job.await(
                    message -> message.hasWorkerStarted()
                            && message.getWorkerStarted().getRank() == 0
                            && message.getWorkerStarted().getPid() != job.pid(0),
                    message -> message.getWorkerStarted().getPid());
            try (TestWorker zero = new TestWorker(socket)) {
                zero.send(new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 2, 0, pid));
                zero.send(new Frame.Join(0));
                one.send(new Frame.Join(0));
                NodeJoinedReport joined = job.await(ControlResponse::hasNodeJoined, ControlResponse::getNodeJoined);
                assertThat(joined.getRound()).isEqualTo(2);
                assertThat(joined.getEndpoints(0).getPid()).isEqualTo(pid);
                assertThat(joined.getEndpoints(1).getPid()).isEqualTo(job.pid(1));
                job.send(ControlRequest.newBuilder()
                        .setAbortRound(AbortRound.newBuilder().setRound(2).setCause("enough"))
                        .build());
                assertThat(one.await(Frame.Abort.class).cause()).isEqualTo("enough");
            }
            // The console's stream of the first round ends although its process goes on under the next round's name.
            assertThat(console.awaitEnd(1, false)).isEqualTo(ByteString.copyFromUtf8(socket + "\n"));
            assertThat(Processes.isAlive(job.pid(1))).isTrue();
        }
    }

    @Test
    void aWorkerThatHasNotParkedAfterTheGracePeriodIsKilled() throws IOException {
        try (TestWorker _ = elastic(0);
                TestWorker one = elastic(1)) {
            one.send(new Frame.Parked(""));
            parked(1);
            signal("STOP", job.pid(0));
            stop(1);
            WorkerExitedReport stopped = exited(0, 1);
            assertThat(stopped.getExitCode()).isEqualTo(KILLED);
            assertThat(stopped.getAfterStop()).isTrue();
            assertThat(Processes.isAlive(job.pid(1))).isTrue();
        }
    }

    @Test
    void aRoundStartsAfterWhoIsNotKeptIsReaped() throws IOException {
        try (TestWorker zero = elastic(0);
                TestWorker one = elastic(1)) {
            zero.send(new Frame.Parked(""));
            one.send(new Frame.Parked(""));
            parked(0);
            parked(1);
            long old = job.pid(0);
            LaunchRound.Builder launch = next(
                    job.shells(2, "if kill -0 " + old + "; then echo lives; else echo reaped; fi; exec sleep 300"), 1);
            job.launch(launch);
            assertThat(exited(0, 1).getExitCode()).isEqualTo(KILLED);
            Path output = folder.resolve("attempt-1/rank-0000/stdout.log");
            Processes.await(() -> output.toFile().length() > 0);
            assertThat(output).hasContent("reaped");
            one.await(Frame.NextRound.class);
        }
    }

    @Test
    void aKeptProcessThatHasEndedIsMissed() throws IOException {
        try (TestWorker one = elastic(1)) {
            one.send(new Frame.Parked(""));
            parked(1);
            kill(job.pid(0));
            exited(0, 1);
            kill(job.pid(1));
            exited(1, 1);
            job.launch(next(job.shells(2, SLEEP), 1));
            assertThat(exited(1, 2).getStartError())
                    .isEqualTo("process " + job.pid(1) + ", which should continue in round 2, has ended");
        }
    }

    @Test
    void elasticWorkersGetTheRequestToRegroup() throws IOException {
        try (TestWorker one = elastic(1)) {
            job.send(ControlRequest.newBuilder()
                    .setRegroup(RegroupRound.newBuilder().setRound(1).setWhy("a node came"))
                    .build());
            assertThat(one.await(Frame.Regroup.class).why()).isEqualTo("a node came");
        }
    }

    @Test
    void aStopOfAllWorkersEndsParkedWorkersToo() throws IOException {
        try (TestWorker one = elastic(1)) {
            one.send(new Frame.Parked(""));
            parked(1);
            stop(LONG_GRACE_MILLIS);
            exited(0, 1);
            job.stop(SIGTERM, LONG_GRACE_MILLIS);
            assertThat(exited(1, 1).getExitCode()).isEqualTo(128 + SIGTERM);
        }
    }

    @Test
    void noParkedWorkerOutlivesItsJob() throws IOException {
        try (TestWorker one = elastic(1)) {
            one.send(new Frame.Parked(""));
            parked(1);
            job.end();
            assertThat(Processes.isAlive(job.pid(0))).isFalse();
            assertThat(Processes.isAlive(job.pid(1))).isFalse();
        }
    }

    private TestWorker elastic(int rank) throws IOException {
        TestWorker worker = new TestWorker(socket);
        worker.send(new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, rank, job.pid(rank)));
        worker.send(new Frame.Elastic());
        job.await(
                message -> message.hasWorkerElastic()
                        && message.getWorkerElastic().getRank() == rank
                        && message.getWorkerElastic().getRound() == 1,
                ControlResponse::getWorkerElastic);
        return worker;
    }

    private WorkerParkedReport parked(int rank) {
        return job.await(
                message ->
                        message.hasWorkerParked() && message.getWorkerParked().getRank() == rank,
                ControlResponse::getWorkerParked);
    }

    private WorkerExitedReport exited(int rank, int round) {
        return job.await(
                message -> message.hasWorkerExited()
                        && message.getWorkerExited().getRank() == rank
                        && message.getWorkerExited().getRound() == round,
                ControlResponse::getWorkerExited);
    }

    /** The second round, which keeps one process of the first. */
    private LaunchRound.Builder next(LaunchRound.Builder launch, int keptRank) {
        launch.getWorkersBuilder(keptRank).setKeepPid(job.pid(keptRank));
        return launch.setRound(2).setRestartCount(1);
    }

    private void stop(int graceMillis) {
        job.send(ControlRequest.newBuilder()
                .setStopWorkers(StopWorkers.newBuilder()
                        .setSignal(SIGTERM)
                        .setGraceMillis(graceMillis)
                        .setSpareElastic(true))
                .build());
    }

    private static void kill(long pid) throws IOException {
        signal("KILL", pid);
    }

    private static void signal(String name, long pid) throws IOException {
        new ProcessBuilder("kill", "-" + name, Long.toString(pid))
                .start()
                .onExit()
                .join();
    }
}
