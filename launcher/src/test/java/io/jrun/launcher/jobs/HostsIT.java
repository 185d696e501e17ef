package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs over two hosts with addresses, names and a network of their own; jrun itself runs on a third, "head". */
class HostsIT extends RealJobs {
    /** A worker that no signal but SIGKILL ends, and its child. */
    private static final String STUBBORN = "trap '' TERM HUP INT; sleep 1000 & echo up; while :; do sleep 0.05; done";

    /**
     * The same with a child that has left its session: only the end of launcher or agent without warning kills that
     * too.
     */
    private static final String DAEMON = "setsid sleep 1000 & " + STUBBORN;

    /** A route of h1 that leads nowhere at some ports of h2, as a firewall that opens the agents' port only. */
    private static final String BARRED = "to 10.99.0.2 ipproto tcp dport 40960-41983 unreachable";

    @TempDir
    private static Path ofClass;

    private static TestHosts hosts;
    private static HostAgents agents;

    @BeforeAll
    static void bringUp() {
        hosts = TestHosts.up(2);
        agents = new HostAgents(hosts, ofClass);
    }

    @AfterAll
    static void takeDown() {
        if (hosts != null) {
            agents.close();
            hosts.close();
        }
    }

    /** They stand from test to test; one that a test has killed is started again. */
    @BeforeEach
    void startAgents() {
        agents.start(List.of("h1", "h2"));
    }

    /** The agent of {@code host}, started anew: an agent tells of the first caller that it refuses. */
    private static Running newAgent(String host) {
        agents.stop(host);
        agents.start(List.of(host));
        return agents.on(host);
    }

    private Running start(String... job) {
        return startOn("head", job);
    }

    private Running startOn(String host, String... job) {
        return jrun.startUnder(
                hosts.on(host), StandingAgent.join(new String[] {"--secret-file=" + agents.secret()}, job));
    }

    private Result run(String... job) {
        return start(job).await();
    }

    @Test
    void everyWorkerHasItsPlaceInTheWholeJob() {
        Result result = run(
                "--hosts=h[2,1]:2",
                "sh",
                "-c",
                "echo $RANK $LOCAL_RANK $GROUP_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_WORLD_SIZE $(uname -n)"
                        + " $MASTER_ADDR; [ $MASTER_PORT -gt 0 ]");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .containsExactly(
                        "[0@h2] 0 0 0 4 2 2 h2 10.99.0.2",
                        "[1@h2] 1 1 0 4 2 2 h2 10.99.0.2",
                        "[2@h1] 2 0 1 4 2 2 h1 10.99.0.2",
                        "[3@h1] 3 1 1 4 2 2 h1 10.99.0.2");
        Path attempt = jrun.logs().resolve("attempt-0");
        assertThat(IntStream.range(0, 4).mapToObj(rank -> attempt.resolve("rank-000" + rank + "/stdout.log")))
                .allSatisfy(log -> assertThat(log).content().contains("10.99.0.2"));
    }

    /** torchrun's way. Each node says at which of its addresses its workers are reached. */
    @Test
    void nodesMeetAndTheirWorkersReachEachOtherWhereTheySay() {
        sumProgram();
        Running joining = meet("h2", "--local-addr=h2-v6", "sum.jar");
        Running hosting = meet("h1", "--local-addr=fd99::1", "sum.jar");
        Result first = hosting.await();
        Result second = joining.await();
        assertThat(first.exitCode()).as(first.err()).isZero();
        assertThat(second.exitCode()).as(second.err()).isZero();
        assertThat(first.sortedOut()).containsExactly("[0@h1] sum 10.0", "[1@h1] sum 10.0");
        assertThat(second.sortedOut()).containsExactly("[2@h2] sum 10.0", "[3@h2] sum 10.0");
        Running other = meet("h2", "sh", "-c", "echo $MASTER_ADDR");
        Result result = meet("h1", "--local-addr=fd99::1", "sh", "-c", "echo $MASTER_ADDR")
                .await();
        assertThat(other.await().sortedOut()).containsExactly("[2@h2] fd99:0:0:0:0:0:0:1", "[3@h2] fd99:0:0:0:0:0:0:1");
        assertThat(result.sortedOut()).containsExactly("[0@h1] fd99:0:0:0:0:0:0:1", "[1@h1] fd99:0:0:0:0:0:0:1");
    }

    private Running meet(String host, String... words) {
        String[] rendezvous = {
            "--nnodes=2",
            "--nproc-per-node=2",
            "--rdzv-endpoint=h1:29400",
            "--rdzv-id=here",
            "--secret-file=" + agents.secret()
        };
        return jrun.startUnder(hosts.on(host), StandingAgent.join(rendezvous, words));
    }

    @Test
    void ranksOfUnevenHostsReduceTogether() {
        sumProgram();
        Result result = run("--hosts=h1:1,h2:2", "sum.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut()).containsExactly("[0@h1] sum 6.0", "[1@h2] sum 6.0", "[2@h2] sum 6.0");
    }

    @Test
    void everyWorkerEncrypts() {
        sumProgram();
        Result result = run("--encrypt", "--hosts=h1:2,h2:1", "sum.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .containsExactly("[0@h1] sum 6.0 encrypted", "[1@h1] sum 6.0 encrypted", "[2@h2] sum 6.0 encrypted");
    }

    @Test
    void launcherOnOneOfTheHostsMayCallItByLoopback() {
        sumProgram();
        Result result = startOn("h1", "--hosts=127.0.0.1:1,h2:1", "sum.jar").await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut()).containsExactly("[0@h1] sum 3.0", "[1@h2] sum 3.0");
        Result address = startOn("h1", "--hosts=127.0.0.1:1,h2:1", "sh", "-c", "echo $MASTER_ADDR")
                .await();
        assertThat(address.sortedOut()).containsExactly("[0@h1] 10.99.0.1", "[1@h2] 10.99.0.1");
    }

    private void sumProgram() {
        Jars.program(folder.resolve("sum.jar"), "Sum", """
                import io.jrun.comm.*;
                import java.lang.foreign.*;
                public class Sum {
                    public static void main(String[] args) {
                        try (var world = Distributed.init(); var arena = Arena.ofShared()) {
                            MemorySegment values = arena.allocate(ValueLayout.JAVA_FLOAT, 100_000);
                            for (int i = 0; i < 100_000; i++) values.setAtIndex(ValueLayout.JAVA_FLOAT, i, world.rank() + 1);
                            world.group().allReduce(values, DataType.F32, 100_000, ReduceOp.SUM);
                            for (int i = 1; i < 100_000; i++)
                                if (values.getAtIndex(ValueLayout.JAVA_FLOAT, i) != values.getAtIndex(ValueLayout.JAVA_FLOAT, 0))
                                    throw new IllegalStateException("element " + i);
                            String encrypted = "1".equals(System.getenv("JRUN_ENCRYPT")) ? " encrypted" : "";
                            System.out.println("sum " + values.getAtIndex(ValueLayout.JAVA_FLOAT, 0) + encrypted);
                        }
                    }
                }
                """);
    }

    @Test
    void interruptEndsTheJobEverywhere() {
        Running job = start("--hosts=h1:2,h2:2", "sh", "-c", "echo up; exec sleep 1000");
        awaitUp(job);
        job.signal("INT");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(130);
        assertThat(result.err()).contains("jrun: stopped by SIGINT");
    }

    @Test
    void killedLauncherLeavesNothingOnAnyHost() {
        Running job = startUp(DAEMON);
        job.signal("KILL");
        assertThat(job.await().exitCode()).isEqualTo(137);
        assertThat(run("--hosts=h1,h2", "sh", "-c", "exit 0").exitCode()).isZero();
    }

    private Running startUp(String script) {
        Running job = start("--shutdown-timeout=1", "--hosts=h1:2,h2:2", "sh", "-c", script);
        awaitUp(job);
        return job;
    }

    private static void awaitUp(Running job) {
        Stream.of("[0@h1] up", "[1@h1] up", "[2@h2] up", "[3@h2] up").forEach(job::awaitOutput);
    }

    @Test
    void wrongSecretIsRefusedByNameAndChangesNothing() throws IOException {
        Path wrong = Files.writeString(folder.resolve("wrong"), "another secret of 32 characters.\n");
        Files.setPosixFilePermissions(wrong, PosixFilePermissions.fromString("rw-------"));
        Running agent = newAgent("h2");
        Running job = startUp(STUBBORN);
        Result refused = jrun.startUnder(
                        hosts.on("head"),
                        "--secret-file=" + wrong,
                        "--hosts=h2",
                        "sh",
                        "-c",
                        ": > " + folder.resolve("started"))
                .await();
        boolean undisturbed = job.process().isAlive();
        job.signal("TERM");
        assertThat(job.await().exitCode()).isEqualTo(143);
        assertThat(undisturbed).isTrue();
        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused.err())
                .hasLineCount(1)
                .contains("the job could not be started: the agent at h2:29600 refuses the job: the agent was started"
                        + " with another secret");
        assertThat(folder.resolve("started")).doesNotExist();
        JRun.waitFor(() -> !agent.err().isEmpty(), "the agent's line about it");
        assertThat(agent.err()).hasLineCount(1).contains("refused a caller without this agent's secret");
    }

    @Test
    void garbageChangesNothing() {
        Running agent = newAgent("h1");
        for (int i = 0; i < 3; i++) {
            hosts.shell("head", "head -c 100000 /dev/urandom > /dev/tcp/h1/29600 || true");
        }
        JRun.waitFor(() -> !agent.err().isEmpty(), "the agent's line about it");
        assertThat(run("--hosts=h1,h2", "sh", "-c", "exit 0").exitCode()).isZero();
        assertThat(agent.err()).hasLineCount(1).contains("further ones are refused silently");
    }

    @Test
    void hostsThatCannotBeReachedAreNamed() {
        Result unknown = run("--hosts=h1,h3", "sh", "-c", "echo never");
        assertThat(unknown.exitCode()).isEqualTo(69);
        assertThat(unknown.err()).hasLineCount(1).contains("the agent at h3:29600 cannot be reached: ", "h3");
        Result silent = run("--hosts=h1,10.99.0.77", "sh", "-c", "echo never");
        assertThat(silent.exitCode()).isEqualTo(69);
        assertThat(silent.err()).hasLineCount(1).contains("the agent at 10.99.0.77:29600 cannot be reached: ");
        Result otherPort = run("--hosts=h1,h2", "--agent-port=29601", "sh", "-c", "echo never");
        assertThat(otherPort.exitCode()).isEqualTo(69);
        assertThat(otherPort.err())
                .hasLineCount(2)
                .containsPattern("agent at h1:29601 .*: Connection refused")
                .containsPattern("agent at h2:29601 .*: Connection refused");
        assertThat(List.of(unknown, silent, otherPort)).extracting(Result::out).containsOnly("");
    }

    @Test
    void sameHostTwiceIsRefused() {
        Result result = run("--hosts=h1,10.99.0.1", "sh", "-c", "echo never");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).hasLineCount(1).contains(":29600 refuses the job: ", "name each host once");
    }

    private List<String> doctor(String... words) {
        Result result = jrun.startUnder(
                        hosts.on("head"),
                        StandingAgent.join(
                                new String[] {"doctor", "--hosts=h1,h2,h9", "--secret-file=" + agents.secret()}, words))
                .await();
        assertThat(result.exitCode()).as(result.err()).isEqualTo(1);
        return result.out().lines().map(line -> line.replaceAll(" +", " ")).toList();
    }

    @Test
    void doctorAsksEveryHostAndHasThemMeasureTheWaysBetweenThem() {
        assertThat(doctor())
                .anySatisfy(
                        line -> assertThat(line).matches("ok h1 agent jrun .* on h1, reached at 10.99.0.1 \\(net0, .*"))
                .anySatisfy(line -> assertThat(line).matches("ok h2 tools util-linux \\d[0-9.]+, coreutils \\d[0-9.]+"))
                .anySatisfy(line -> assertThat(line).startsWith("ok h2 clock "))
                .anySatisfy(line -> assertThat(line).startsWith("ok h2 threads at most "))
                .anySatisfy(line -> assertThat(line).startsWith("ok h2 address space "))
                .anySatisfy(line -> assertThat(line).startsWith("problem h1 names does not know h9; "))
                .anySatisfy(line -> assertThat(line).startsWith("problem h9 agent "))
                .anySatisfy(line -> assertThat(line).startsWith("absent h1 ssh ssh: connect to host h1 port 22: "))
                .anySatisfy(line -> assertThat(line).matches("ok h1 to h2 .* ms there and back, .*"))
                .anySatisfy(line -> assertThat(line).matches("ok h2 to h1 .* ms there and back, .*"))
                .noneMatch(line -> line.contains("h9 to") || line.contains("to h9"));
    }

    @Test
    void doctorGoesTheWayOfWorkersAndNotOnlyOfAgents() {
        String range = "/proc/sys/net/ipv4/ip_local_port_range";
        hosts.shell("h2", "echo 40960 41983 > " + range);
        hosts.shell("h1", "ip rule add pref 1 " + BARRED);
        try {
            assertThat(doctor())
                    .anySatisfy(line -> assertThat(line).startsWith("ok h2 agent jrun "))
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("problem h1 to h2 ")
                            .contains("No route to host; check the firewall and the route.", "here 40960-41983"));
        } finally {
            hosts.shell("h1", "ip rule delete " + BARRED);
            hosts.shell("h2", "echo 32768 60999 > " + range);
        }
    }

    @Test
    void doctorKnowsAnAgentThatRefusesFromOneThatIsMissing() throws IOException {
        Path secret = Files.writeString(folder.resolve("other"), "another secret of enough bytes\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        assertThat(doctor("--secret-file=" + secret))
                .anySatisfy(
                        line -> assertThat(line)
                                .startsWith(
                                        "problem h1 agent is running, but refuses this jrun: the agent was started with another secret"))
                .noneMatch(line -> line.contains("h1 agent") && line.contains("runs on this host"));
    }
}
