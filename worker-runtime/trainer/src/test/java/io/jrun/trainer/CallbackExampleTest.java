package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of the package's page. */
class CallbackExampleTest {
    @TempDir
    Path folder;

    @Test
    void theTrainingEndsBeforeItsLastStep() throws IOException {
        Path text =
                Files.writeString(folder.resolve("text.txt"), "to be or not to be, that is the question. ".repeat(200));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (World world = Distributed.init();
                PrintStream lines = new PrintStream(out, true, StandardCharsets.UTF_8)) {
            String[] args = {
                "--tiny",
                "--data=" + text,
                "--steps=400",
                "--eval-every=10",
                "--lr=0.01",
                "--context=16",
                "--device=cpu"
            };
            Trainer.train(
                    TrainingArguments.parse(args, ModelOptions.none(new CallbackExample()), 1)
                            .orElseThrow(),
                    world,
                    lines);
        }
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("the loss is low enough")
                .doesNotContain("step 400/400");
    }
}
