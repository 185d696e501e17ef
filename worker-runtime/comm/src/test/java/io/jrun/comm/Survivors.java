package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The expected end of the worker processes that survive one of them. */
final class Survivors {
    private static final Pattern MESSAGE =
            Pattern.compile("\"(io\\.jrun\\.comm\\.CommException: (?:[^\"\\\\]|\\\\.)*+)\"");

    private Survivors() {}

    /**
     * All end, and report one cause, which names an operation and the rank that was killed.
     *
     * @param host pattern of that rank's
     */
    static void assertOneCause(TestAgent agent, List<Process> processes, int victim, String host) throws Exception {
        Map<Integer, String> errorCauses = new TreeMap<>();
        for (int rank = 0; rank < processes.size(); rank++) {
            if (rank != victim) {
                assertThat(TestAgent.exitCode(processes.get(rank)))
                        .as(agent.output(rank))
                        .isEqualTo(1);
                errorCauses.put(rank, cause(agent, rank));
            }
        }
        assertThat(Set.copyOf(errorCauses.values()))
                .as(String.join("\n", errorCauses.values()))
                .hasSize(1);
        assertThat(errorCauses.values())
                .first(STRING)
                .containsPattern("rank " + victim + " \\(host " + host + ", pid "
                        + processes.get(victim).pid() + "\\)")
                .contains(" #");
    }

    /** The reports of a rank to its agent. */
    static String cause(TestAgent agent, int rank) throws IOException {
        String json = Files.readString(agent.directory().resolve("rank-" + rank + ".json"));
        Matcher matcher = MESSAGE.matcher(json);
        assertThat(matcher.find()).as(json).isTrue();
        return matcher.group(1);
    }

    /** The name of the job in shared memory. */
    static void assertNothingIsLeft(String runId) throws IOException {
        try (var files = Files.list(Path.of("/dev/shm"))) {
            assertThat(files.map(Path::toString)).noneMatch(file -> file.contains(runId));
        }
    }
}
