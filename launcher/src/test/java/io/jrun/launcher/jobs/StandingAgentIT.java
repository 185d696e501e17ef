package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code jrun agent} and the jobs that use it. */
class StandingAgentIT extends RealJobs {
    @TempDir
    private static Path ofClass;

    private static StandingAgent agent;

    @BeforeAll
    static void startAgent() {
        agent = StandingAgent.start(new JRun(ofClass), ofClass);
    }

    @AfterAll
    static void stopAgent() {
        agent.close();
    }

    @Test
    void jobsRunAsInLocalMode() throws IOException {
        Jars.program(folder.resolve("meet.jar"), "Meet", """
                public class Meet {
                    public static void main(String[] args) {
                        try (var world = io.jrun.comm.Distributed.init()) {
                            world.group().barrier();
                            System.out.println("of " + world.size());
                        }
                    }
                }
                """);
        Result result = jrun.run(agent.with("--nproc-per-node=2", "meet.jar"));
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .satisfiesExactly(
                        line -> assertThat(line).matches("\\[0@.+] of 2"),
                        line -> assertThat(line).matches("\\[1@.+] of 2"));
        Result failed = jrun.run(agent.with("sh", "-c", "echo broken >&2; exit 42"));
        assertThat(failed.exitCode()).isEqualTo(42);
        assertThat(failed.err()).contains("first failure: rank 0 on ", "    | broken");
        assertThat(jrun.logs().resolve("attempt-0/rank-0000/stderr.log")).hasContent("broken");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(agent.secretFile())))
                .isEqualTo("rw-------");
    }

    @Test
    void wrongSecretIsRefusedInOneLine() throws IOException {
        Path wrong = Files.writeString(folder.resolve("wrong"), "another secret of 32 characters.\n");
        Files.setPosixFilePermissions(wrong, PosixFilePermissions.fromString("rw-------"));
        Result result =
                jrun.run(StandingAgent.join(agent.optionsWithSecret(wrong), "sh", "-c", ": > " + folder + "/started"));
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err())
                .hasLineCount(1)
                .contains("the job could not be started: the agent at 127.0.0.1:" + agent.port() + " refuses the job")
                .contains("started with another secret; give the --secret-file");
        assertThat(folder.resolve("started")).doesNotExist();
        JRun.waitFor(() -> !agent.process().err().isEmpty(), "the agent's line about it");
        assertThat(agent.process().err()).hasLineCount(1).contains("refused a caller without this agent's secret");
    }

    @Test
    void portInUseIsAUsageError() {
        Result result = jrun.run("agent", "--secret-file=" + agent.secretFile(), "--listen=127.0.0.1:" + agent.port());
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).hasLineCount(1).contains("--listen: cannot listen on 127.0.0.1:" + agent.port());
    }

    @Test
    void absentAgentIsReportedInOneLine() {
        Result result = jrun.run(
                "--hosts=127.0.0.1", "--agent-port=1", "--secret-file=" + agent.secretFile(), "sh", "-c", "exit 0");
        assertThat(result.exitCode()).isEqualTo(69);
        assertThat(result.err()).hasLineCount(1).contains("127.0.0.1:1").contains("Connection refused");
    }

    @Test
    void twoAgentsRunOneJob() {
        Running other = jrun.start("agent", "--secret-file=" + agent.secretFile(), "--listen=127.0.0.2:" + agent.port())
                .awaitOutput("listening on 127.0.0.2:" + agent.port());
        Result result = jrun.run(
                "--hosts=127.0.0.[1-2]:2",
                "--agent-port=" + agent.port(),
                "--secret-file=" + agent.secretFile(),
                "sh",
                "-c",
                "echo $RANK $GROUP_RANK $LOCAL_RANK of $WORLD_SIZE at $MASTER_ADDR");
        other.signal("TERM");
        assertThat(other.await().exitCode()).isEqualTo(143);
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .satisfiesExactly(
                        line -> assertThat(line).endsWith("] 0 0 0 of 4 at 127.0.0.1"),
                        line -> assertThat(line).endsWith("] 1 0 1 of 4 at 127.0.0.1"),
                        line -> assertThat(line).endsWith("] 2 1 0 of 4 at 127.0.0.1"),
                        line -> assertThat(line).endsWith("] 3 1 1 of 4 at 127.0.0.1"));
    }

    @Test
    void mapOfHostsIsPrintedWithoutCallsToThem() {
        String[] hosts = {"--hosts=gpu[08-09]:2,last", "--secret-file=" + agent.secretFile(), "--dry-run"};
        Result result = jrun.run(StandingAgent.join(hosts, "sh", "-c", "exit 0"));
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().lines().map(line -> line.replaceAll(" +", " ").replaceFirst(" - .*", "")))
                .containsExactly(
                        "RANK NODE LOCAL RANK DEVICE COMMAND",
                        " 0 gpu08 0",
                        " 1 gpu08 1",
                        " 2 gpu09 0",
                        " 3 gpu09 1",
                        " 4 last 0",
                        "one worker is shown on last: a host with GPUs gets one worker for each GPU;"
                                + " --nproc-per-node=N sets the number");
        Result json =
                jrun.run(StandingAgent.join(hosts, "--json", "--spares=1", "--max-restarts=1", "sh", "-c", "exit 0"));
        assertThat(json.out())
                .contains(
                        "\"rank\":3,\"host\":\"gpu09\"",
                        "\"maxNodes\":2,\"standingBy\":[\"last\"],\"uncounted\":[],\"files\":[]");
        Result unknown = jrun.run(StandingAgent.join(hosts, "--nproc-per-node=gpu", "sh", "-c", "exit 0"));
        assertThat(unknown.exitCode()).isEqualTo(2);
        assertThat(unknown.err()).hasLineCount(1).contains("--dry-run: only the agent of last knows how many workers");
    }
}
