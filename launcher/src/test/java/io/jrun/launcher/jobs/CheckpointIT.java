package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The training example is killed, stopped, or asked for a checkpoint, and continues with the same bits. */
class CheckpointIT extends RealJobs {
    private static final int STEPS = 20;

    private Path text;

    @BeforeEach
    void writeText() throws IOException {
        text = Files.writeString(
                folder.resolve("text"), "It was the best of times, it was the worst of times. ".repeat(2_000));
    }

    @Test
    void aJobThatIsKilledStoppedAndAskedForACheckpointHasTheBitsOfAnUninterruptedOne() {
        assertThat(train("whole").await().exitCode()).isZero();

        Running killed = train("resumed", checkpoint(), "--checkpoint-every=1", "--checkpoint-async");
        killed.awaitOutput("step " + (3 + RunSeed.offset(4)) + "/" + STEPS);
        killed.signal("KILL");
        killed.await();

        Running stopped = train("resumed", checkpoint(), "--resume");
        stopped.awaitOutput("step " + (9 + RunSeed.offset(3)) + "/" + STEPS);
        stopped.signal("TERM");
        Result ended = stopped.await();
        assertThat(ended.exitCode()).as(ended.err()).isEqualTo(143);
        assertThat(ended.out()).contains(" from step ", "checkpoint of step ");

        Running asked = train("resumed", checkpoint(), "--resume");
        asked.awaitOutput("step " + (14 + RunSeed.offset(2)) + "/" + STEPS);
        asked.signal("USR1");
        asked.awaitOutput("checkpoint of step ");
        asked.signal("KILL");
        asked.await();

        Result last = train("resumed", checkpoint(), "--resume").await();
        assertThat(last.exitCode()).as(last.err()).isZero();
        assertThat(last.out()).containsPattern("from step 1[4-9] to 20");
        assertThat(folder.resolve("resumed")).hasSameBinaryContentAs(folder.resolve("whole"));
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
