package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;

/** Jobs that cannot begin, and those that begin under the name of another. */
class OpeningIT extends RealJobs {
    @Test
    void masterPortInUseIsTheUsersToMend() throws IOException {
        try (ServerSocket other = new ServerSocket(0)) {
            Result result = jrun.run("--master-port=" + other.getLocalPort(), "sh", "-c", "echo never");
            assertThat(result.exitCode()).isEqualTo(2);
            assertThat(result.err())
                    .hasLineCount(1)
                    .startsWith("jrun: the job could not be started: --master-port " + other.getLocalPort()
                            + " cannot be reserved on this node: ");
            assertThat(result.out()).isEmpty();
        }
    }

    @Test
    void timeoutCountsWhileAnAgentDoesNotAnswer() {
        StandingAgent agent = StandingAgent.start(jrun, folder);
        try {
            agent.process().signal("STOP");
            Result result = jrun.run(agent.with("--timeout=300ms", "sh", "-c", "echo never"));
            assertThat(result.exitCode()).isEqualTo(124);
        } finally {
            agent.process().signal("CONT");
            agent.close();
        }
    }

    @Test
    void secondJobOfANameIsRefusedWhileTheFirstRuns() throws IOException {
        Running first = jrun.start("--run-id=nightly", "sh", "-c", "echo up; until [ -e go ]; do sleep 0.05; done");
        first.awaitOutput("up");
        Result second = jrun.run("--run-id=nightly", "sh", "-c", "echo never");
        assertThat(second.exitCode()).isEqualTo(2);
        assertThat(second.err()).hasLineCount(1).contains("--run-id: a job called 'nightly' is running");
        assertThat(second.out()).isEmpty();
        Files.createDirectory(folder.resolve("go"));
        assertThat(first.await().exitCode()).isZero();
    }

    @Test
    void repeatedNameStartsWithAnEmptyFolderAndKeepsTheOldOne() {
        jrun.run("--run-id=nightly", "--nproc-per-node=3", "sh", "-c", "echo first");
        Result second = jrun.run("--run-id=nightly", "--nproc-per-node=1", "sh", "-c", "echo second");
        assertThat(second.exitCode()).isZero();
        assertThat(second.err()).hasLineCount(1).contains("are now in " + folder.resolve("logs/nightly.1"));
        assertThat(folder.resolve("logs/nightly/attempt-0/rank-0000/stdout.log"))
                .hasContent("second");
        assertThat(folder.resolve("logs/nightly/attempt-0/rank-0002")).doesNotExist();
        assertThat(folder.resolve("logs/nightly.1/attempt-0/rank-0002/stdout.log"))
                .hasContent("first");
    }
}
