package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The training example is killed, stopped, or asked for a checkpoint, and continues with the same bits. */
class CheckpointIT extends RealJobs {
    private static final int STEPS = 40;

    /** The parameters of a job without an interruption; empty before the first test. */
    private static byte[] whole = {};

    private Path text;

    @BeforeEach
    void writeText() throws IOException {
        text = Files.writeString(
                folder.resolve("text"), "It was the best of times, it was the worst of times. ".repeat(2_000));
    }

    @Test
    void aJobThatIsKilledStoppedAndAskedForACheckpointHasTheBitsOfAnUninterruptedOne() throws IOException {
        byte[] uninterrupted = uninterrupted();
        Running killed = train("resumed", checkpoint(), "--checkpoint-every=1", "--checkpoint-async");
        killed.awaitOutput("step " + (3 + RunSeed.offset(4)) + "/" + STEPS);
        killed.signal("KILL");
        killed.await();

        // On a busy machine each signal comes some steps later, so the next job may begin later.
        Running stopped = train("resumed", checkpoint(), "--resume");
        stopped.awaitMatch(Pattern.compile("step (9|[1-3][0-9])/" + STEPS));
        stopped.signal("TERM");
        Result ended = stopped.await();
        assertThat(ended.exitCode()).as(ended.err()).isEqualTo(143);
        assertThat(ended.out()).contains(" from step ", "checkpoint of step ");

        Running asked = train("resumed", checkpoint(), "--resume");
        asked.awaitMatch(Pattern.compile("step (1[4-9]|[2-4][0-9])/" + STEPS));
        asked.signal("USR1");
        asked.awaitOutput("checkpoint of step ");
        asked.signal("KILL");
        asked.await();

        Result last = train("resumed", checkpoint(), "--resume").await();
        assertThat(last.exitCode()).as(last.err()).isZero();
        // On a busy machine the signal may come in the last step.
        assertThat(last.out())
                .containsPattern("from step (1[4-9]|[23][0-9]) to 40|the checkpoint has 40 of --steps=40 steps");
        assertThat(folder.resolve("resumed")).hasBinaryContent(uninterrupted);

        Result refused = train("refused", checkpoint(), "--resume=99").await();
        assertThat(refused.exitCode()).as(refused.err()).isEqualTo(2);
        assertThat(refused.err().lines().filter(line -> line.contains("] train: there is no checkpoint of step 99")))
                .as("each rank has the same error, and one rank prints the line")
                .hasSize(1);
    }

    /** The client in lib/s3, a real S3 server, and SIGKILL between saves or inside of a save. */
    @Test
    void aKilledJobWithCheckpointsInS3HasTheBitsOfAnUninterruptedOne() throws IOException {
        byte[] uninterrupted = uninterrupted();
        Path module = Path.of(
                Objects.requireNonNull(System.getProperty("jrun.root")),
                "worker-runtime/s3",
                Objects.requireNonNull(System.getProperty("jrun.build.folder")));
        Process server = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin/java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        module.resolve("test-classes") + ":" + Files.readString(module.resolve("test.classpath")),
                        "io.jrun.s3.S3Server",
                        folder.resolve("s3").toString(),
                        "runs")
                .redirectError(folder.resolve("s3.err").toFile())
                .start();
        try (BufferedReader out = server.inputReader()) {
            String line = out.readLine();
            assertThat(line).as(() -> JRun.read(folder.resolve("s3.err"))).startsWith("port ");
            jrun.with("AWS_ENDPOINT_URL", "http://127.0.0.1:" + line.substring("port ".length()))
                    .with("AWS_REGION", "us-east-1")
                    .with("AWS_ACCESS_KEY_ID", "test-user")
                    .with("AWS_SECRET_ACCESS_KEY", "test-secret");
            String checkpoint = "--checkpoint=s3://runs/a/b";
            Running killed = train("resumed", checkpoint, "--checkpoint-every=1", "--checkpoint-async");
            killed.awaitOutput("step " + (4 + RunSeed.offset(6)) + "/" + STEPS);
            killed.signal("KILL");
            killed.await();
            assertThat(folder.resolve("resumed")).doesNotExist();

            Result last = train("resumed", checkpoint, "--resume").await();
            assertThat(last.exitCode()).as(last.err()).isZero();
            assertThat(last.out()).containsPattern("from step [1-9][0-9]? to 40");
            assertThat(folder.resolve("resumed")).hasBinaryContent(uninterrupted);
        } finally {
            server.destroyForcibly();
        }
    }

    private byte[] uninterrupted() throws IOException {
        if (whole.length == 0) {
            assertThat(train("whole").await().exitCode()).isZero();
            whole = Files.readAllBytes(folder.resolve("whole"));
        }
        return whole;
    }

    private String checkpoint() {
        return "--checkpoint=" + folder.resolve("checkpoints");
    }

    private Running train(String out, String... options) {
        String[] program = {
            "--nproc-per-node=2",
            "--env=JRUN_DETERMINISTIC=1",
            Path.of(Objects.requireNonNull(System.getProperty("jrun.home")))
                    .resolve("examples/train.jar")
                    .toString(),
            "--tiny",
            "--log-every=1",
            "--steps=" + STEPS,
            "--data=" + text,
            "--out=" + folder.resolve(out)
        };
        return jrun.start(StandingAgent.join(program, options));
    }
}
