package io.jrun.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compares the sources with the tables of packages in docs/architecture.md: each package has a row, and names no package
 * of a row above its own.
 */
class PackageTablesTest {
    private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/", Pattern.DOTALL);
    private static final Pattern PACKAGE_OF_A_TYPE = Pattern.compile("\\b(io\\.jrun(?:\\.[a-z]\\w*)+)\\.[A-Z]");

    @ParameterizedTest
    @CsvSource({"io.jrun.launcher,launcher,false", "io.jrun.agent,agent,false", "io.jrun.comm,worker-runtime/comm,true"
    })
    void dependenciesRunDownTheTable(String module, String folder, boolean rootIsLowest) throws IOException {
        Map<String, Integer> rows = documentedRows(module, rootIsLowest);
        Map<String, Set<String>> uses = uses(Path.of("..", folder, "src/main/java"));
        assertThat(uses).as("packages of " + module).hasSizeGreaterThan(10);
        uses.forEach((from, all) -> {
            assertThat(rows).as("table of " + module).containsKey(from);
            int row = Objects.requireNonNull(rows.get(from));
            assertThat(all)
                    .as("packages that %s uses, in a row above its own", from)
                    .noneMatch(to -> rows.getOrDefault(to, Integer.MAX_VALUE) < row);
        });
    }

    /** The packages of jrun that the sources of each package name. */
    private static Map<String, Set<String>> uses(Path sources) throws IOException {
        Map<String, Set<String>> uses = new TreeMap<>();
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".java")).toList()) {
                String from = sources.relativize(file.getParent()).toString().replace('/', '.');
                String code = COMMENT.matcher(Files.readString(file)).replaceAll("");
                Stream<MatchResult> names = PACKAGE_OF_A_TYPE.matcher(code).results();
                Set<String> all = uses.computeIfAbsent(from, _ -> new TreeSet<>());
                names.map(name -> name.group(1)).forEach(all::add);
            }
        }
        return uses;
    }

    private static Map<String, Integer> documentedRows(String module, boolean rootIsLowest) throws IOException {
        String page = Files.readString(Path.of("../docs/architecture.md"));
        String section = page.split("### " + module + ", [^\n]*\n", 2)[1].split("\n##", 2)[0];
        List<String> lines =
                section.lines().filter(line -> line.startsWith("| `")).toList();
        Map<String, Integer> rows = new HashMap<>();
        rows.put(module, rootIsLowest ? lines.size() : -1);
        for (int row = 0; row < lines.size(); row++) {
            for (String name :
                    lines.get(row).split("\\|", -1)[1].replaceAll("[` ]", "").split(",", -1)) {
                rows.put(module + "." + name, row);
            }
        }
        return rows;
    }
}
