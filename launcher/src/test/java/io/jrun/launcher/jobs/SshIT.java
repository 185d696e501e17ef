package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs over two hosts with a real sshd on each; jrun itself runs on a third, "head". */
class SshIT extends RealJobs {
    private static final String SSHD = "/usr/sbin/sshd";

    /** A PID namespace with a /proc of its own, as on another machine; its processes end with it. */
    private static final List<String> OWN_PROCESSES =
            List.of("unshare", "--pid", "--fork", "--kill-child", "--mount-proc");

    @TempDir
    private static Path ssh;

    private static TestHosts hosts;
    private static final List<Process> DAEMONS = new ArrayList<>();

    @BeforeAll
    static void bringUp() throws IOException, InterruptedException {
        assumeTrue(Files.isExecutable(Path.of(SSHD)), "skipped: no " + SSHD + "; install openssh-server");
        hosts = TestHosts.up(4); // the third has no sshd
        Archives.linkInto(ssh.resolve("cache"));
        Files.createDirectories(Path.of("/run/sshd")); // where it locks itself in before a login
        key("host");
        key("user");
        key("stranger");
        String hostKey = Files.readString(ssh.resolve("host.pub"));
        Files.writeString(ssh.resolve("known"), "h1 " + hostKey + "h2 " + hostKey + "h4 " + hostKey);
        Files.writeString(ssh.resolve("changed"), "h1 " + Files.readString(ssh.resolve("stranger.pub")));
        for (String host : List.of("h1", "h2")) {
            DAEMONS.add(sshd(host, List.of()));
        }
        DAEMONS.add(sshd("h4", OWN_PROCESSES));
    }

    private static void key(String name) throws IOException, InterruptedException {
        Process made = new ProcessBuilder(
                        "ssh-keygen",
                        "-q",
                        "-t",
                        "ed25519",
                        "-N",
                        "",
                        "-f",
                        ssh.resolve(name).toString())
                .inheritIO()
                .start();
        assertThat(made.waitFor()).isZero();
    }

    /** Returns when it listens. */
    private static Process sshd(String host, List<String> wrapper) throws IOException {
        Path config = ssh.resolve("config-" + host);
        String variables = Stream.of(
                        Leftovers.OWNER_VARIABLE + "=" + Leftovers.OWNER,
                        "JRUN_NO_ARCHIVE=1",
                        "XDG_CACHE_HOME=" + ssh.resolve("cache"),
                        "JRUN_JAVA_HOME=" + System.getProperty("java.home"))
                .reduce("", (all, next) -> all + " " + next);
        Files.writeString(config, """
                ListenAddress 0.0.0.0
                HostKey %1$s/host
                AuthorizedKeysFile %1$s/user.pub
                StrictModes no
                UsePAM no
                PidFile none
                PermitRootLogin yes
                SetEnv%2$s
                """.formatted(ssh, variables));
        List<String> command = new ArrayList<>(hosts.on(host));
        command.addAll(wrapper);
        command.addAll(List.of(SSHD, "-D", "-e", "-f", config.toString()));
        Path log = ssh.resolve("log-" + host);
        Process daemon = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        JRun.waitFor(() -> read(log).contains("Server listening"), "sshd on " + host);
        return daemon;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            return "";
        }
    }

    @AfterAll
    static void takeDown() throws InterruptedException {
        for (Process daemon : DAEMONS) {
            daemon.destroyForcibly();
            assertThat(daemon.waitFor(60, TimeUnit.SECONDS)).isTrue();
        }
        if (hosts != null) {
            hosts.close();
        }
    }

    private Running start(String key, String... job) {
        return start(key, "known", job);
    }

    private Running start(String key, String known, String[] job) {
        return jrun.startUnder(
                hosts.on("head"),
                Stream.concat(Stream.of("--launch=ssh", sshOptions(key, known)), Stream.of(job))
                        .toArray(String[]::new));
    }

    private static String sshOptions(String key, String known) {
        return "--ssh-options=-F /dev/null -o IdentitiesOnly=yes -o UserKnownHostsFile=" + ssh.resolve(known)
                + " -o StrictHostKeyChecking=yes -o ConnectTimeout=2 -i " + ssh.resolve(key);
    }

    private Result run(String... job) {
        return start("user", job).await();
    }

    @Test
    void sshStartsAnAgentOnEachHost() {
        Result result = run("--hosts=h2:1,h1:2", "sh", "-c", "echo $RANK $(uname -n) $MASTER_ADDR");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .containsExactly("[0@h2] 0 h2 10.99.0.2", "[1@h1] 1 h1 10.99.0.2", "[2@h1] 2 h1 10.99.0.2");
    }

    @Test
    void aJarsFailureIsReportedAsEver() {
        Jars.program(folder.resolve("fails.jar"), "Fails", """
                public class Fails {
                    public static void main(String[] args) throws Exception {
                        if (System.getenv("RANK").equals("1")) throw new IllegalStateException("as it should");
                        Thread.sleep(1_000_000);
                    }
                }
                """);
        Result result = run("--hosts=h1,h2", "fails.jar");
        assertThat(result.exitCode()).as(result.err()).isEqualTo(1);
        assertThat(result.err()).contains("first failure: rank 1 on h2", "IllegalStateException: as it should");
    }

    @Test
    void theLaunchersDeathLeavesNothing() {
        Running job = start("user", "--hosts=h1,h2", "sh", "-c", "echo up; sleep 1000 & while :; do sleep 0.05; done");
        JRun.waitFor(() -> job.out().lines().filter(line -> line.endsWith("up")).count() == 2, "both workers");
        job.signal("KILL");
        assertThat(job.await().exitCode()).isEqualTo(137);
        JRun.waitFor(() -> Leftovers.processesWith("JRUN_RUN_ID=" + job.runId()).isEmpty(), "end of the agents");
    }

    @Test
    void aLostAgentIsStartedAgainAndItsNodeIsTakenInAgain() {
        ElasticProgram program = ElasticProgram.in(folder);
        Running job = start(
                "user",
                "--hosts=h1:1,h2:1",
                "--nnodes=1:2",
                "--max-restarts=1",
                "--node-cooldown=1",
                program.jar().toString());
        JRun.waitFor(() -> Beginning.count(job.out(), 2) == 2, "a world of two");
        ProcessHandle agent = job.processesOfRank(1).stream()
                .flatMap(worker -> ProcessHandle.of(Long.parseLong(worker)).stream())
                .flatMap(worker -> worker.parent().stream())
                .findFirst()
                .orElseThrow();
        JRun.kill("KILL", Long.toString(agent.pid()));
        JRun.waitFor(() -> Beginning.count(job.out(), 1) == 1, "a world of one");
        JRun.waitFor(() -> Beginning.count(job.out(), 2) == 4, "a world of two again");
        program.finish();
        Result result = job.await();
        assertThat(result.exitCode()).as(result.err()).isZero();
        List<Beginning> beginnings = Beginning.in(result.out());
        assertThat(Beginning.pids(beginnings, 0).stream().distinct()).hasSize(1);
        assertThat(Beginning.pids(beginnings, 1).stream().distinct()).hasSize(2);
        JRun.waitFor(() -> Leftovers.processesWith("JRUN_RUN_ID=" + job.runId()).isEmpty(), "end of the agents");
    }

    /** The launcher and its host see no process of h4, and h4 sees no process of theirs. */
    @Test
    void execRunsACommandBesideAWorkerOfAnotherHost() throws IOException {
        List<String> wrapper = new ArrayList<>(hosts.on("head"));
        wrapper.addAll(OWN_PROCESSES);
        wrapper.addAll(
                List.of("sh", "-c", """
                jrun=$1 ssh=$2; shift 2
                "$@" --detach --hosts=h1:1,h4:1 sh -c 'echo on; while [ ! -e go ]; do sleep 0.05; done' || exit 9
                "$jrun" exec "$ssh" $JRUN_RUN_ID 1 sh -c 'echo "beside $RANK of $WORLD_SIZE on $(uname -n) in $PWD: $1"; exit 7' sh 'a  b'
                echo "exit code $?"
                "$jrun" exec "$ssh" --remote-jrun=/nowhere/jrun $JRUN_RUN_ID 1 true
                echo "exit code $?"
                : > go
                "$jrun" attach $JRUN_RUN_ID
                """, "sh", JRun.SCRIPTS.resolve("jrun").toString(), sshOptions("user", "known")));
        Result result = jrun.startUnder(wrapper, "--launch=ssh", sshOptions("user", "known"))
                .await();
        assertThat(result.exitCode()).as(result.out() + result.err()).isZero();
        assertThat(result.out())
                .contains("beside 1 of 2 on h4 in " + folder.toRealPath() + ": a  b\nexit code 7\n")
                .contains("exit code 127\n");
        assertThat(result.err()).contains("/nowhere/jrun is no program there, and there is no jrun on the PATH");
    }

    @Test
    void everythingThatFailsIsOneClearLine() {
        assertRefusal(
                run("--hosts=h1,h9", "true"), "the agent at h9 cannot be reached: ssh: Could not resolve hostname h9");
        assertRefusal(start("stranger", "--hosts=h1", "true").await(), "Permission denied", "'ssh h1 true' must work");
        assertRefusal(
                start("user", "changed", new String[] {"--hosts=h1", "true"}).await(),
                "the agent at h1 cannot be reached: ssh: its host key is not the one in known_hosts;",
                "ssh-keygen -R h1");
        assertRefusal(
                start("user", "changed", new String[] {"--hosts=h2", "true"}).await(),
                "the agent at h2 cannot be reached: ssh: No ED25519 host key is known for h2",
                "run 'ssh h2' once by hand");
        assertRefusal(
                run("--hosts=h2", "--remote-jrun=/nowhere/jrun", "true"),
                "the agent at h2 cannot be reached: /nowhere/jrun is no program there",
                "--remote-jrun");
        hosts.unplug("h2");
        assertRefusal(
                run("--hosts=h1,h2", "true"), "the agent at h2 cannot be reached: ssh: connect to host h2 port 22: ");
        hosts.plugIn("h2");
    }

    @Test
    void allFailedHostsAreReported() {
        Result result = run("--hosts=h1,h3,h9", "true");
        assertThat(result.exitCode()).isEqualTo(69);
        assertThat(result.err())
                .hasLineCount(2)
                .contains("the agent at h3 cannot be reached: ssh: connect to host h3 port 22: Connection refused;")
                .contains("the agent at h9 cannot be reached: ssh: Could not resolve hostname h9");
    }

    @Test
    void doctorStartsItsAgentsAsAJobDoes() {
        Result result = jrun.startUnder(
                        hosts.on("head"), "doctor", "--launch=ssh", sshOptions("user", "known"), "--hosts=h1,h2,h3")
                .await();
        assertThat(result.exitCode()).as(result.err()).isEqualTo(1);
        assertThat(result.out().lines().map(line -> line.replaceAll(" +", " ")))
                .anySatisfy(line -> assertThat(line)
                        .matches("ok h1 agent jrun .* on h1, reached at 10.99.0.1 \\(net0, MTU \\d+\\)"))
                .anySatisfy(line -> assertThat(line).matches("ok h2 clock .* to within .*"))
                .anySatisfy(line -> assertThat(line).startsWith("ok h2 names knows all hosts"))
                .anySatisfy(line -> assertThat(line)
                        .startsWith("problem h3 agent cannot be started on this host: ssh: connect to host h3 port 22: "
                                + "Connection refused; check that the host is up"))
                .anySatisfy(line -> assertThat(line).matches("ok h1 to h2 .* ms there and back, .* Gbit/s over TLS"))
                .anySatisfy(line -> assertThat(line).matches("ok h2 to h1 .* ms there and back, .* Gbit/s over TLS"));
    }

    @Test
    void aHostWithoutAJdkSaysSo() {
        Path jrun = onHost("""
                unshare -m sh -c 'for d in /usr/lib/jvm /opt/java; do [ ! -d $d ] || mount -t tmpfs none $d; done; exec "$@"' \
                    sh env -u JAVA_HOME -u JRUN_JAVA_HOME PATH=/usr/bin:/bin""");
        assertRefusal(
                run("--hosts=h1", "--remote-jrun=" + jrun, "true"),
                "the agent at h1 cannot be reached: no JDK 25 or newer found; install one");
    }

    @Test
    void anotherVersionIsRefusedAndBothAreNamed() throws IOException {
        Path home = Homes.copy(folder.resolve("other"));
        Homes.replaceClass(
                home.resolve("lib/launcher"),
                "jrun-launcher",
                "io.jrun.launcher.Version",
                "package io.jrun.launcher; final class Version { static final String TEXT = \"0.0.9\"; }");
        Result result = run("--hosts=h1", "--remote-jrun=" + onHost("env JRUN_HOME=" + home), "true");
        assertThat(result.exitCode()).as(result.err()).isEqualTo(2);
        assertThat(result.err())
                .hasLineCount(1)
                .containsPattern(
                        "the agent at h1 refuses the job: the agent is jrun 0.0.9, the launcher is jrun \\d\\S+; install the same");
    }

    @Test
    void aHomeThatIsMissingOrCannotBeWrittenDoesNoHarmUnlessFilesMustComeThere() throws IOException {
        Files.createDirectory(folder.resolve("home"));
        String readOnly =
                "unshare -m sh -c 'mount --bind -o ro %1$s/home %1$s/home; mount -t tmpfs none %1$s/proj; exec \"$@\"' sh env -u XDG_CACHE_HOME HOME=%1$s/home"
                        .formatted(folder);
        Files.createDirectory(folder.resolve("proj"));
        assertThat(run(
                                "--hosts=h1",
                                "--remote-jrun=" + onHost("env -u XDG_CACHE_HOME HOME=/nonexistent"),
                                "echo",
                                "here")
                        .out())
                .isEqualTo("[0@h1] here\n");
        Path jrun = onHost(readOnly);
        assertThat(run("--hosts=h1", "--remote-jrun=" + jrun, "echo", "here").out())
                .isEqualTo("[0@h1] here\n");
        Jars.program(
                folder.resolve("proj/none.jar"),
                "None",
                "public class None { public static void main(String[] a) {} }");
        Result result = run("--hosts=h1", "--remote-jrun=" + jrun, "proj/none.jar");
        assertThat(result.exitCode()).as(result.err()).isEqualTo(127);
        assertThat(result.err())
                .contains("the job's files cannot be brought here: " + folder + "/home/.cache: Read-only file system;")
                .contains("set XDG_CACHE_HOME");
    }

    /** A jrun as a host may have it: what {@code wrapper} makes of the checkout's. */
    private Path onHost(String wrapper) {
        try {
            Path script = Files.createTempFile(folder, "jrun-", ".sh");
            Files.writeString(script, "#!/bin/sh\nexec " + wrapper + " " + JRun.SCRIPTS.resolve("jrun") + " \"$@\"\n");
            Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwxr-xr-x"));
            return script;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void assertRefusal(Result result, String... words) {
        assertThat(result.exitCode()).isEqualTo(69);
        assertThat(result.err()).contains(words);
        assertThat(result.err().strip().lines()).hasSize(1);
    }
}
