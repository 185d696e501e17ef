package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.TestJob;
import io.jrun.agent.control.TestWorker;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.Ping;
import io.jrun.agent.proto.WorkerHungReport;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.control.StoreCommand;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The workers are shells that sleep; this JVM gives signs of life for them. */
@Timeout(120)
class LivenessMonitorTest {
    @TempDir
    Path folder;

    private TestJob job;

    @BeforeEach
    void open() throws IOException {
        job = TestJob.inProcess(folder);
        job.open();
    }

    @AfterEach
    void close() {
        job.close();
    }

    private TestWorker launch(int workerTimeoutMillis, int progressTimeoutMillis) throws IOException {
        return launch("exec sleep 300", workerTimeoutMillis, progressTimeoutMillis);
    }

    private TestWorker launch(String program, int workerTimeoutMillis, int progressTimeoutMillis) throws IOException {
        job.launch(job.shells(1, "echo \"$JRUN_AGENT_SOCKET\"; " + program)
                .setWorkerTimeoutMillis(workerTimeoutMillis)
                .setProgressTimeoutMillis(progressTimeoutMillis));
        job.pid(0);
        job.awaitStdout(0, "\n");
        TestWorker worker = new TestWorker(Path.of(job.stdout(0).strip()));
        worker.send(new Frame.Hello(FrameCodec.PROTOCOL_VERSION, job.runId(), 1, 0, job.pid(0)));
        return worker;
    }

    private WorkerHungReport awaitHung() {
        return job.await(ControlResponse::hasWorkerHung, ControlResponse::getWorkerHung);
    }

    @Test
    void silentWorkerIsNamedAndKilled() throws IOException {
        try (TestWorker worker = launch(1000, 0)) {
            worker.send(new Frame.Alive(0, true));
            assertThat(awaitHung().getWhy())
                    .startsWith("has given no sign of life for 1 s; process " + job.pid(0) + " sleeps");
            assertThat(awaitHung().getPid()).isEqualTo(job.pid(0));
            assertThat(job.exited(0).getExitCode()).isEqualTo(137);
            assertThat(job.exited(0).getAfterStop()).isTrue();
        }
    }

    @Test
    void workerThatBeginsNothingAndIsInNothingIsNamed() throws IOException {
        try (TestWorker worker = launch(0, 1000)) {
            for (int i = 0; i < 8; i++) {
                worker.send(new Frame.Alive(7, i < 4)); // inside an operation it may wait as long as that lets it
            }
            assertThat(awaitHung().getWhy()).startsWith("has begun no operation for 1 s and is in none; ");
        }
    }

    @Test
    void workerThatHasClosedItsConnectionOwesNoSigns() throws IOException {
        try (TestWorker worker = launch("exec sleep 3", 1000, 1000)) {
            worker.send(new Frame.Alive(0, false));
        }
        assertThat(job.exited(0).getExitCode()).isZero();
    }

    @Test
    void pingsAndAbortsAreConfirmed() throws IOException {
        try (TestWorker worker = launch(0, 0)) {
            job.send(ControlRequest.newBuilder()
                    .setPing(Ping.getDefaultInstance())
                    .build());
            job.await(ControlResponse::hasPong, ControlResponse::getPong);
            worker.send(new Frame.StoreRequest(1, new StoreCommand.Get("k", 0)));
            job.awaitFrame(0, Frame.StoreRequest.class);
            job.send(ControlRequest.newBuilder()
                    .setAbortRound(AbortRound.newBuilder().setRound(1).setCause("why"))
                    .build());
            assertThat(job.await(ControlResponse::hasAbortReceipt, ControlResponse::getAbortReceipt)
                            .getRound())
                    .isEqualTo(1);
            assertThat(worker.await(Frame.Abort.class).cause()).isEqualTo("why");
        }
    }
}
