package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.Processes;
import io.jrun.agent.TestJob;
import io.jrun.agent.proto.AbortRound;
import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.JavaProgramSpec;
import io.jrun.agent.proto.LaunchRound;
import io.jrun.agent.proto.NodeJoinedReport;
import io.jrun.agent.proto.PeerNode;
import io.jrun.agent.proto.ProgramSpec;
import io.jrun.agent.proto.RegroupRound;
import io.jrun.agent.proto.RoundPeerTable;
import io.jrun.agent.proto.StopWorkers;
import io.jrun.agent.proto.WorkerEndpoint;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerParkedReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real worker JVMs go from round to round; this test does what a coordinator would. */
@Timeout(300)
class ElasticWorkersTest {
    private static final int SIGTERM = 15;
    private static final int KILLED = 128 + 9;
    private static final int LONG_GRACE_MILLIS = 60_000;
    private static final long NEVER = -1;

    @TempDir
    Path folder;

    private TestJob job;
    private int round = 1;

    @BeforeEach
    void open() throws IOException {
        job = TestJob.inProcess(folder);
        job.open();
    }

    @AfterEach
    void close() {
        job.close();
    }

    @Test
    void aReplacedWorkerTakesOverWhereTheOthersAre() throws IOException {
        job.launch(program(4, 12, 4, 5));
        meet(1);
        assertThat(exited(2, 1).getExitCode()).isEqualTo(9);
        fail("rank 2 is gone", LONG_GRACE_MILLIS);
        for (int rank : List.of(0, 1, 3)) {
            assertThat(parked(rank, 1).getPid()).isEqualTo(job.pid(rank));
        }
        LaunchRound.Builder launch = next(program(4, 12, 4, 5));
        for (int rank : List.of(0, 1, 3)) {
            launch.getWorkersBuilder(rank).setKeepPid(job.pid(rank));
        }
        job.launch(launch);
        meet(2);
        for (int rank = 0; rank < 4; rank++) {
            assertThat(exited(rank, 2).getExitCode()).isZero();
            String output = Files.readString(output(rank == 2 ? 1 : 0, rank));
            assertThat(output)
                    .containsPattern("begins at step [45] as rank " + rank + " of 4")
                    .endsWith("total 120 after 12 steps\n");
        }
    }

    @Test
    void aSmallerWorldGoesOnUnderOtherNumbers() throws IOException {
        job.launch(program(4, 12, 3, 5));
        meet(1);
        exited(2, 1);
        fail("rank 2 is gone", LONG_GRACE_MILLIS);
        long moved = parked(3, 1).getPid();
        parked(0, 1);
        parked(1, 1);
        LaunchRound.Builder launch = next(program(3, 12, 3, 5));
        launch.getWorkersBuilder(0).setKeepPid(job.pid(0));
        launch.getWorkersBuilder(1).setKeepPid(job.pid(1));
        launch.getWorkersBuilder(2).setKeepPid(moved);
        job.launch(launch);
        meet(2);
        for (int rank = 0; rank < 3; rank++) {
            assertThat(exited(rank, 2).getExitCode()).isZero();
        }
        // By the time of the abort, all may still be finishing the last step with rank 2.
        String output = Files.readString(output(0, 3));
        int first = output.contains("begins at step 5 as rank 2 of 3") ? 5 : 4;
        assertThat(output)
                .contains("begins at step " + first + " as rank 2 of 3")
                .endsWith("total " + (first * 10 + (12 - first) * 6) + " after 12 steps\n");
    }

    @Test
    void aWorldGrowsBetweenTwoCommits() throws IOException {
        job.launch(program(2, 1, 3, NEVER));
        meet(1);
        job.awaitStdout(1, "begins");
        job.send(ControlRequest.newBuilder()
                .setRegroup(RegroupRound.newBuilder().setRound(1).setWhy("a node came"))
                .build());
        // One leaves at its commit; the other may wait for it in the next step, until it is told.
        job.await(ControlResponse::hasWorkerParked, ControlResponse::getWorkerParked);
        abort("the world grows");
        parked(0, 1);
        parked(1, 1);
        LaunchRound.Builder launch = next(program(3, 1, 3, NEVER));
        launch.getWorkersBuilder(0).setKeepPid(job.pid(0));
        launch.getWorkersBuilder(1).setKeepPid(job.pid(1));
        job.launch(launch);
        meet(2);
        for (int rank = 0; rank < 3; rank++) {
            assertThat(exited(rank, 2).getExitCode()).isZero();
        }
        String last = Files.readString(output(0, 0)).lines().toList().getLast();
        assertThat(Files.readString(output(1, 2))).endsWith(last + "\n");
        assertThat(Files.readString(output(0, 1))).endsWith(last + "\n");
    }

    @Test
    void aWorkerStoppedInTheMiddleOfAReductionIsFencedOff() throws IOException {
        job.launch(program(4, 1, 99, NEVER)); // without end
        meet(1);
        job.awaitStdout(3, "begins");
        signal("STOP", job.pid(3));
        signal("KILL", job.pid(2));
        exited(2, 1);
        fail("rank 2 is gone", 2000);
        parked(0, 1);
        parked(1, 1);
        assertThat(exited(3, 1).getExitCode()).isEqualTo(KILLED);
        LaunchRound.Builder launch = next(program(4, 1, 99, NEVER));
        launch.getWorkersBuilder(0).setKeepPid(job.pid(0));
        launch.getWorkersBuilder(1).setKeepPid(job.pid(1));
        job.launch(launch);
        meet(2);
        // SIGCONT finds no process, and the new round reduces undisturbed.
        signal("CONT", job.pid(3));
        awaitText(output(1, 3), "begins");
        fail("enough", LONG_GRACE_MILLIS);
        for (int rank = 0; rank < 4; rank++) {
            assertThat(parked(rank, 2).getWhy()).contains("enough");
        }
    }

    private static void awaitText(Path file, String text) throws IOException {
        Processes.await(() -> Files.exists(file) && Files.readString(file).contains(text));
    }

    /** Waits for all of a round and tells them of each other. */
    private void meet(int round) {
        NodeJoinedReport joined = job.await(
                message -> message.hasNodeJoined() && message.getNodeJoined().getRound() == round,
                ControlResponse::getNodeJoined);
        PeerNode.Builder here = PeerNode.newBuilder().setHost("here").setAddress("127.0.0.1");
        for (WorkerEndpoint endpoint : joined.getEndpointsList()) {
            here.addRanks(endpoint.getRank()).addTcpPorts(endpoint.getTcpPort()).addPids(endpoint.getPid());
        }
        RoundPeerTable table =
                RoundPeerTable.newBuilder().setRound(round).addNodes(here).build();
        job.send(ControlRequest.newBuilder().setPeerTable(table).build());
    }

    private void fail(String cause, int graceMillis) {
        abort(cause);
        job.send(ControlRequest.newBuilder()
                .setStopWorkers(StopWorkers.newBuilder()
                        .setSignal(SIGTERM)
                        .setGraceMillis(graceMillis)
                        .setSpareElastic(true))
                .build());
    }

    private void abort(String cause) {
        job.send(ControlRequest.newBuilder()
                .setAbortRound(AbortRound.newBuilder().setRound(round).setCause(cause))
                .build());
    }

    private WorkerParkedReport parked(int rank, int number) {
        return job.await(
                message -> message.hasWorkerParked()
                        && message.getWorkerParked().getRank() == rank
                        && message.getWorkerParked().getRound() == number,
                ControlResponse::getWorkerParked);
    }

    private WorkerExitedReport exited(int rank, int number) {
        return job.await(
                message -> message.hasWorkerExited()
                        && message.getWorkerExited().getRank() == rank
                        && message.getWorkerExited().getRound() == number,
                ControlResponse::getWorkerExited);
    }

    private LaunchRound.Builder next(LaunchRound.Builder launch) {
        round++;
        return launch.setRound(round).setRestartCount(1);
    }

    private Path output(int attempt, int rank) {
        return folder.resolve("attempt-" + attempt + "/rank-%04d/stdout.log".formatted(rank));
    }

    private LaunchRound.Builder program(int workers, long steps, int size, long death) {
        return job.launch(workers)
                .setProgram(ProgramSpec.newBuilder()
                        .setJava(JavaProgramSpec.newBuilder()
                                .addJvmOptions("-XX:TieredStopAtLevel=1")
                                .setMainClass(ElasticWorkerMain.class.getName()))
                        .addAllArgs(List.of(Long.toString(steps), Integer.toString(size), Long.toString(death))));
    }

    private static void signal(String name, long pid) throws IOException {
        new ProcessBuilder("kill", "-" + name, Long.toString(pid))
                .start()
                .onExit()
                .join();
    }
}
