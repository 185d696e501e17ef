package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The model and the commands of docs/tutorial.md, as printed. */
class TutorialIT extends RealJobs {
    private static final Pattern OPTION = Pattern.compile("--[a-z-]+");

    @Test
    void theModelTrainsAndTheOtherCommandsAreUnderstood() throws IOException {
        jrun.with("XDG_CACHE_HOME", folder.resolve("cache").toString());
        Path docs = JRun.SCRIPTS.resolveSibling("docs");
        String page = Files.readString(docs.resolve("tutorial.md"));
        Files.writeString(
                folder.resolve("MyModel.java"), page.split("```java\n", 2)[1].split("```", 2)[0]);
        Files.createDirectory(folder.resolve("text"));
        Files.copy(docs.resolve("operations.md"), folder.resolve("text/operations.md"));
        List<String> commands = Stream.of(page.split("```\n"))
                .flatMap(String::lines)
                .filter(line -> line.startsWith("jrun ") && line.contains("MyModel.java "))
                .toList();
        assertThat(commands).hasSizeGreaterThanOrEqualTo(3);

        Result trained = run(commands.getFirst());
        assertThat(trained.exitCode()).as(trained.err()).isZero();
        assertThat(trained.out()).contains("(MyModel, 3 blocks)").containsPattern("step 60/60 loss \\d\\.");
        String ofTrainer = run("jrun MyModel.java --help").out();
        String ofJrun = jrun.run("--help").out();
        for (String command : commands) {
            String[] halves = command.split("MyModel.java", 2);
            assertThat(ofJrun).contains(options(halves[0]));
            assertThat(ofTrainer).contains(options(halves[1]));
        }
    }

    private static List<String> options(String words) {
        return OPTION.matcher(words)
                .results()
                .map(option -> Objects.requireNonNull(option.group()))
                .toList();
    }

    private Result run(String command) {
        return jrun.run(Stream.of(command.split(" ", -1)).skip(1).toArray(String[]::new));
    }
}
