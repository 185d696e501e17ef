package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** {@code --detach}, and the commands about jobs that run or have run. */
class LivingJobsIT extends RealJobs {
    private static final String UNTIL_GO = "while [ ! -e go ]; do sleep 0.05; done; ";

    private final List<String> detached = new ArrayList<>();

    /** A job of a failed test must not go on by itself. */
    @AfterEach
    void endDetachedJobs() {
        for (String id : detached) {
            Leftovers.processesWith("JRUN_RUN_ID=" + id)
                    .forEach(pid -> ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly));
        }
    }

    private Result jrun(String... words) {
        return jrun.run(words);
    }

    /** The id of a job that goes on by itself. */
    private String detach(String... words) {
        Running starter = jrun.start(words);
        detached.add(starter.runId());
        Result result = starter.awaitExit();
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).isEqualTo(starter.runId() + "\n");
        return starter.runId();
    }

    @Test
    void aDetachedJobIsListedDescribedReadAttachedToAndKeptAfterItsEnd() throws Exception {
        // Rank 1 fails when rank 0 has nothing more to say, since its failure ends the job.
        String script = "echo begun $RANK; " + UNTIL_GO + "echo \"it's over\" $RANK; [ $RANK = 1 ] || : > said;"
                + " while [ ! -e said ]; do sleep 0.05; done; exit $((RANK * 3))";
        String id = detach("--detach", "--nproc-per-node=2", "--env=TOKEN=hunter2", "sh", "-c", script, "\u001b[31m");

        Result listed = jrun("ps");
        assertThat(listed.out()).contains("RUN ID", id, " running ", "sh -c 'echo ");
        Result described = jrun("describe", id);
        assertThat(described.out())
                .contains("variables  TOKEN (values are not recorded)", "detached")
                .containsPattern("typed +jrun .*--env=TOKEN=\\.\\.\\. sh -c ")
                .contains("sh -c 'echo begun $RANK; while [ ! -e go ]")
                .contains("it'\\''s over", "'?[31m'")
                .doesNotContain("hunter2", "\u001b")
                .containsPattern("\n +1 .* running");
        Running follower = jrun.start("logs", "-f", "--rank=1", id);
        follower.awaitOutput("begun 1");
        Running attached = jrun.start("attach", id);
        attached.awaitOutput("begun 0").awaitOutput("begun 1");
        Result beside = jrun("exec", id, "1", "sh", "-c", "echo $RANK $TOKEN $PWD; exit 5");
        assertThat(beside.out()).isEqualTo("1 hunter2 " + folder.toRealPath() + "\n");
        assertThat(beside.exitCode()).isEqualTo(5);
        assertThat(jrun("exec", id, "9", "true").err())
                .isEqualTo("jrun: exec: " + id + " has no rank 9; it has 2 workers.\n");
        assertThat(jrun("rm", id).err())
                .isEqualTo("jrun: rm: " + id + " has not ended; 'jrun cancel " + id + "' stops it.\n");
        Files.writeString(folder.resolve("go"), "");

        Result seen = attached.await();
        assertThat(seen.exitCode()).isEqualTo(3);
        assertThat(seen.out()).contains("] it's over 0\n", "] it's over 1\n", "first failure: rank 1 on ");
        Result followed = follower.await();
        assertThat(followed.exitCode()).isZero();
        assertThat(followed.out()).isEqualTo("begun 1\nit's over 1\n");

        assertThat(jrun("ps").out()).doesNotContain(id);
        assertThat(jrun("ps", "-a").out()).containsPattern(id + " +exit 3 ");
        assertThat(jrun("describe", id).out()).contains("first failure: rank 1 on ", "exit 3");
        assertThat(jrun("describe", "--json", id).out())
                .contains("\"exitCode\":3", "\"state\":\"ended\"")
                .doesNotContain("hunter2");
        assertThat(jrun("attach", id.substring(0, id.length() - 2)).exitCode()).isEqualTo(3);
        assertThat(jrun("logs", id).sortedOut()).hasSize(4).first().asString().endsWith("begun 0");
        assertThat(jrun("logs", "--tail=1", "--rank=0", id).out()).isEqualTo("it's over 0\n");
        assertThat(jrun("logs", "--tail=9", "--rank=0", id).out()).isEqualTo("begun 0\nit's over 0\n");
        assertThat(jrun("logs", "--stderr", id).out()).isEmpty();
        assertThat(jrun("logs", "--timestamps", "--rank=1", id).out())
                .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ begun 1\n\\S+Z it's over 1\n");
        assertThat(jrun("logs", "--since=1h", "--rank=1", id).out()).isEqualTo("begun 1\nit's over 1\n");
        assertThat(jrun("logs", "--since=2099-01-01T00:00", id).out()).isEmpty();
        assertThat(jrun("logs", "--tail=-1", id).err())
                .isEqualTo("jrun: --tail: '-1' is not usable; give a whole number, at least 0.\n");
        Result absent = jrun("logs", "--rank=7", id);
        assertThat(absent.exitCode()).isEqualTo(2);
        assertThat(absent.err()).isEqualTo("jrun: logs: " + id + " has no such rank; it has 2 ranks (0-1).\n");
        assertPrivate(folder.resolve("logs").resolve(id));
        assertThat(jrun("exec", id, "true").err()).isEqualTo("jrun: exec: " + id + " has ended: exit 3.\n");
        assertThat(jrun("rm", id, "no-such-job").err()).contains("no job is called 'no-such-job'");
        assertThat(jrun("rm", "--older-than=1").out()).isEqualTo("no job ended so long ago\n");
        assertThat(jrun("rm", id).out()).isEqualTo("removed " + id + ": " + folder.resolve("logs/" + id) + "\n");
        assertThat(folder.resolve("logs").resolve(id)).doesNotExist();
        assertThat(jrun("ps", "-a").out()).doesNotContain(id);
    }

    private static void assertPrivate(Path logs) throws IOException {
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(logs)))
                .isEqualTo("rwx------");
        try (Stream<Path> files = Files.walk(logs.resolve("attempt-0"))) {
            for (Path file : files.toList()) {
                assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                        .as(file.toString())
                        .endsWith("------");
            }
        }
        for (String name : List.of("events.jsonl", "console.log")) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(logs.resolve(name))))
                    .isEqualTo("rw-------");
        }
    }

    @Test
    void cancelStopsAJobAsCtrlCDoes() {
        String id = detach("--detach", "sh", "-c", "trap 'echo bye; exit 0' TERM; echo on; " + UNTIL_GO);
        jrun.start("logs", "-f", id).awaitOutput("on").abandon();
        Result cancelled = jrun("cancel", id);
        assertThat(cancelled.exitCode()).as(cancelled.err()).isZero();
        assertThat(cancelled.out()).isEqualTo(id + ": SIGTERM (143)\n");
        assertThat(jrun("logs", id).out()).contains("] bye\n");
        Result again = jrun("cancel", id);
        assertThat(again.exitCode()).isZero();
        assertThat(again.err()).isEqualTo("jrun: " + id + " has ended already: SIGTERM (143)\n");
        Result attached = jrun("attach", id);
        assertThat(attached.exitCode()).isEqualTo(143);
        assertThat(attached.out()).contains("jrun: stopped by SIGTERM (exit code 143)");
    }

    @Test
    void stackShowsTheLocationOfEachWorker() throws IOException {
        Jars.program(folder.resolve("job.jar"), "Job", """
                import io.jrun.comm.*;

                public class Job {
                    public static void main(String[] args) throws Exception {
                        if (System.getenv("RANK").equals("1")) {
                            waitFor("join");
                        }
                        try (World world = Distributed.init()) {
                            world.group().barrier();
                            if (world.rank() == 1) {
                                elsewhere();
                            }
                            world.group().barrier();
                        }
                    }

                    static void elsewhere() throws Exception {
                        waitFor("go");
                    }

                    static void waitFor(String file) throws Exception {
                        while (!java.nio.file.Files.exists(java.nio.file.Path.of(file))) {
                            Thread.sleep(10);
                        }
                    }
                }
                """);
        Running job = jrun.start("--nproc-per-node=2", "job.jar");
        String id = job.runId();
        awaitStacks(id, "is joining its job");
        Files.writeString(folder.resolve("join"), "");
        awaitStacks(id, " in barrier #1", "Job.elsewhere(");
        Result one = jrun("stack", "--rank=1", id);
        assertThat(one.out())
                .startsWith("rank 1@")
                .contains("has completed barrier #0")
                .doesNotContain("rank 0@");
        assertThat(jrun("attach", id).err()).contains("was not started with --detach", "jrun logs -f " + id);
        Result killed = jrun("cancel", "--now", id);
        assertThat(killed.exitCode()).as(killed.err()).isZero();
        assertThat(job.await().exitCode()).isEqualTo(143);
        assertThat(jrun("stack", id).err()).isEqualTo("jrun: stack: " + id + " has ended: SIGTERM (143).\n");
    }

    private void awaitStacks(String id, String... texts) {
        String[] last = {""};
        JRun.waitFor(
                () -> {
                    last[0] = jrun("stack", id).out();
                    return Stream.of(texts).allMatch(last[0]::contains);
                },
                Duration.ofSeconds(90),
                () -> String.join(" and ", texts) + " in\n" + last[0]);
    }

    @Test
    void aDetachedJobThatCannotStartReportsTheReason() {
        Result unknown = jrun("--detach", "no-such-program");
        assertThat(unknown.exitCode()).isEqualTo(2);
        assertThat(unknown.err()).contains("no-such-program");
        Result failed = jrun.start(
                        "--detach",
                        "--master-port=1",
                        "--hosts=127.0.0.1",
                        "--agent-port=1",
                        "--secret-file=" + secret(),
                        "true")
                .awaitExit();
        assertThat(failed.exitCode()).as(failed.err()).isEqualTo(69);
        assertThat(failed.err()).contains("the agent at 127.0.0.1:1 cannot be reached");
        assertThat(jrun("describe", "no-such-job").err())
                .isEqualTo("jrun: no job is called 'no-such-job'; 'jrun ps -a' shows all.\n");
    }

    private Path secret() {
        try {
            Path file = Files.writeString(folder.resolve("secret"), "s".repeat(32));
            return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aKilledLaunchersJobIsLost() {
        Running job = jrun.start("sh", "-c", "echo on; " + UNTIL_GO).awaitOutput("on");
        JRun.waitFor(() -> jrun("ps").out().contains(job.runId()), "its record");
        job.signal("KILL");
        job.awaitNothingLeft();
        assertThat(jrun("ps").out()).doesNotContain(job.runId());
        assertThat(jrun("ps", "-a").out()).containsPattern(job.runId() + " +lost ");
        assertThat(jrun("describe", job.runId()).out()).contains("its launcher has ended");
    }
}
