package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The examples of scripts/javadoc are files that Maven compiles. */
class JavadocExamplesTest {
    private static final Pattern SNIPPET = Pattern.compile("\\{@snippet file=\"([^\"]+)\"");

    /** The folders of examples in scripts/javadoc. */
    private static final List<Path> FOLDERS = List.of(
            Path.of("../worker-runtime/examples/src/main/java"),
            Path.of("../launcher/src/main/resources"), // the program of jrun init, which InitIT builds
            Path.of("../worker-runtime/comm/src/test/java"),
            Path.of("../worker-runtime/core/src/test/java"),
            Path.of("../worker-runtime/data/src/test/java"),
            Path.of("../worker-runtime/checkpoint/src/test/java"),
            Path.of("../worker-runtime/parallel/src/test/java"),
            Path.of("../worker-runtime/models/src/test/java"),
            Path.of("../worker-runtime/trainer/src/test/java"));

    @Test
    void eachExampleIsASource() throws IOException {
        List<Path> pages = new ArrayList<>(List.of(Path.of("../docs/javadoc/overview.html")));
        try (Stream<Path> files = Files.walk(Path.of("../worker-runtime"))) {
            files.filter(file -> file.endsWith("package-info.java")).forEach(pages::add);
        }
        List<String> examples = new ArrayList<>();
        for (Path page : pages) {
            SNIPPET.matcher(Files.readString(page))
                    .results()
                    .map((MatchResult found) -> found.group(1))
                    .forEach(examples::add);
        }
        assertThat(examples)
                .hasSizeGreaterThanOrEqualTo(16)
                .allSatisfy(example -> assertThat(FOLDERS)
                        .as(example)
                        .anyMatch(folder -> Files.isRegularFile(folder.resolve(example))));
        assertThat(Files.readString(Path.of("../scripts/javadoc")))
                .contains(
                        "worker-runtime/examples/src/main/java",
                        "launcher/src/main/resources",
                        "comm core data checkpoint parallel models trainer");
    }
}
