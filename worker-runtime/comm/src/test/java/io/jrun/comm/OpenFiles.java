package io.jrun.comm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * The open sockets, selectors and similar resources of this process, by kind. Files of the class path are not counted.
 *
 * @param byKind number by kind, such as {@code socket} and {@code anon_inode}
 */
public record OpenFiles(Map<String, Integer> byKind) {
    private static final Duration SOON = Duration.ofSeconds(10);

    public OpenFiles {
        byKind = Map.copyOf(byKind);
    }

    /** Returns the resources that are open now. */
    public static OpenFiles now() throws IOException {
        Map<String, Integer> byKind = new TreeMap<>();
        targets().stream()
                .filter(target -> target.contains(":"))
                .forEach(target -> byKind.merge(target.substring(0, target.indexOf(':')), 1, Integer::sum));
        return new OpenFiles(byKind);
    }

    /** Returns the target of each descriptor of this process: a path, or a kind with a number. */
    public static List<String> targets() throws IOException {
        try (var files = Files.list(Path.of("/proc/self/fd"))) {
            return files.map(OpenFiles::target).toList();
        }
    }

    /** Waits until no kind has more than in this. */
    public void awaitNoMore() throws IOException, InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        while (true) {
            OpenFiles current = now();
            if (current.byKind().entrySet().stream()
                    .allMatch(kind -> kind.getValue() <= byKind.getOrDefault(kind.getKey(), 0))) {
                return;
            }
            assertThat(System.nanoTime())
                    .as("open: %s, before: %s", current, this)
                    .isLessThan(end);
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (IOException e) {
            return ""; // Closed meanwhile, as is the listing of the folder itself.
        }
    }
}
