package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * After any kill in a job with containers of a .sqsh file, jrun reports the right cause, and no process, mount or loop
 * device is left. An ordinary user runs every second job, and squashfuse mounts the image. Soak, 25 times each:
 * -Djrun.soak=true.
 */
@Tag("alone") // kills, and looks at the loop devices
class ContainerKillIT extends RealJobs {
    private static final boolean SOAK = Boolean.getBoolean("jrun.soak");
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final String SCRIPT = "trap '' TERM HUP INT; sleep 1000 & echo up $$; while :; do sleep 0.05; done";

    @TempDir
    private static Path shared;

    private static Path image;

    static IntStream times() {
        return IntStream.range(0, SOAK ? 25 : 2);
    }

    static IntStream timesOfRoot() {
        return IntStream.range(0, SOAK ? 25 : 1);
    }

    @BeforeAll
    static void makeImage() throws Exception {
        assumeTrue(ContainerImages.unavailable().isEmpty(), ContainerImages.unavailable());
        assumeTrue(TestCommand.exists("squashfuse"), "needs the package squashfuse");
        image = ContainerImages.withoutJdk(shared.resolve("image.sqsh"));
        OrdinaryUser.own(shared);
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedWorker(int time) {
        Running job = start(time);
        Matcher first = Pattern.compile("\\[1@[^]]+] up (\\d+)\n").matcher(job.out());
        assertThat(first.find()).as(job.out()).isTrue();
        JRun.kill("KILL", first.group(1));
        Result result = job.await();

        assertThat(result.exitCode()).as(result.err()).isEqualTo(137);
        assertThat(result.err()).contains("jrun: first failure: rank 1 on ", "ended by SIGKILL");
        assertNothingLeft();
    }

    @ParameterizedTest
    @MethodSource("times")
    void killedLauncher(int time) {
        Running job = start(time);
        job.signal("KILL");

        assertThat(job.await().exitCode()).isEqualTo(137);
        assertNothingLeft();
    }

    @ParameterizedTest
    @MethodSource("timesOfRoot")
    void killedAgent(int time) {
        StandingAgent agent = StandingAgent.start(jrun, folder);
        Running job = awaitUp(jrun.start(StandingAgent.join(agent.options(), job())));
        agent.process().signal("KILL");
        Result result = job.await();

        assertThat(result.exitCode()).as(result.err()).isEqualTo(69);
        assertThat(result.err()).contains("jrun: lost the agent of ");
        assertThat(agent.process().await().exitCode()).isEqualTo(137);
        assertNothingLeft();
    }

    /** One cluster for all, which is most of the time. */
    @ParameterizedTest
    @MethodSource("nodes")
    void killedNode(int times) throws Exception {
        try (TestHosts hosts = TestHosts.up(2);
                HostAgents agents = new HostAgents(hosts, folder)) {
            Files.writeString(agents.secret(), "0123456789abcdef0123456789abcdef");
            Files.setPosixFilePermissions(
                    agents.secret(), java.nio.file.attribute.PosixFilePermissions.fromString("rw-------"));
            for (int time = 0; time < times; time++) {
                agents.start(List.of("h1", "h2"));
                Running job = awaitUp(jrun.startUnder(
                        hosts.on("head"),
                        StandingAgent.join(
                                new String[] {"--hosts=h1:1,h2:1", "--secret-file=" + agents.secret()},
                                "--container-image=" + image,
                                "--shutdown-timeout=200ms",
                                "sh",
                                "-c",
                                SCRIPT)));
                agents.powerOff("h2");
                Result result = job.await();

                assertThat(result.exitCode()).as(result.err()).isEqualTo(69);
                assertThat(result.err()).contains("jrun: lost the agent of h2");
                assertNothingLeft();
            }
        }
    }

    static IntStream nodes() {
        return IntStream.of(SOAK ? 25 : 1);
    }

    private static String[] job() {
        return new String[] {
            "--container-image=" + image, "--nproc-per-node=2", "--shutdown-timeout=200ms", "sh", "-c", SCRIPT
        };
    }

    private Running start(int time) {
        if (time % 2 == 0) {
            return awaitUp(jrun.start(job()));
        }
        OrdinaryUser.own(folder);
        return awaitUp(jrun.startUnder(OrdinaryUser.wrapper(), job()));
    }

    private static Running awaitUp(Running job) {
        JRun.waitFor(
                () -> job.out().lines().filter(line -> line.contains("] up ")).count() == 2, "both workers");
        return job;
    }

    private static void assertNothingLeft() {
        JRun.waitFor(
                () -> ContainerLeftovers.of(image).isEmpty(),
                TIMEOUT,
                () -> "the end of the containers; left: " + ContainerLeftovers.of(image));
    }
}
