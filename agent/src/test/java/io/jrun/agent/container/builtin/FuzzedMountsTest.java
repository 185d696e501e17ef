package io.jrun.agent.container.builtin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerFormatException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.WorkerRequest;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random mounts over an image with links to everywhere: a program in the container writes wherever it can, and changes
 * nothing of the node but what is mounted for writing. A few by default, 1,000 under -Djrun.soak=true.
 */
class FuzzedMountsTest {
    private static final int CASES = Boolean.getBoolean("jrun.soak") ? 1_000 : 12;

    /** Writes beside and into each target, and climbs. */
    private static final String WRITE_EVERYWHERE = """
            for path in "$@" / /etc /var /links/up /links/out /links/chain /../../.. /proc/1/root /proc/self/cwd/../..; do
              touch "$path/jrun-fuzzed" "$path/../jrun-fuzzed" "$path" 2>/dev/null
              rm -f "$path/victim" "$path/../victim" 2>/dev/null
            done
            cd / && chroot .. /bin/touch /jrun-fuzzed 2>/dev/null
            true
            """;

    @TempDir
    private Path temp;

    @Test
    void nothingOfTheNodeChangesButWhatIsMounted() throws Exception {
        assumeTrue(BusyboxImage.isPossible(), "needs the package busybox-static");
        assumeTrue(
                System.getProperty("user.name").equals("root"), "makes containers as root, who may write everywhere");
        Path outside = Files.createDirectory(temp.resolve("outside"));
        Files.writeString(outside.resolve("victim"), "untouched");
        Path data = Files.createDirectory(temp.resolve("data"));
        Files.writeString(data.resolve("file"), "data");
        Files.createSymbolicLink(data.resolve("out"), outside);
        Path image = hostileImage(outside);
        Random random = new Random(Long.getLong("jrun.test.seed", 1));
        Map<String, String> before = content(outside, image);
        int made = 0;
        for (int i = 0; i < CASES; i++) {
            String mounts = i == 0 ? data + ":/a" : mounts(random, data, outside);
            made += run(image, mounts, Path.of(temp + "/job-" + i)) ? 1 : 0;
            assertThat(content(outside, image)).as(mounts).isEqualTo(before);
            assertThat(Path.of("/jrun-fuzzed")).as(mounts).doesNotExist();
            assertThat(Path.of("/etc/jrun-fuzzed")).as(mounts).doesNotExist();
        }
        assertThat(made).as("containers that could be made").isGreaterThanOrEqualTo(Math.max(1, CASES / 20));
    }

    private Path hostileImage(Path outside) throws IOException {
        Path image = BusyboxImage.folder(temp.resolve("image"));
        Path links = Files.createDirectory(image.resolve("links"));
        Files.createSymbolicLink(links.resolve("out"), outside);
        Files.createSymbolicLink(links.resolve("up"), Path.of("../../../../../../../.." + outside));
        Files.createSymbolicLink(links.resolve("chain"), Path.of("up/../out"));
        Files.createSymbolicLink(links.resolve("loop"), Path.of("loop"));
        Files.createSymbolicLink(links.resolve("etc"), Path.of("/etc"));
        Files.createSymbolicLink(image.resolve("var"), outside);
        return image;
    }

    private static String mounts(Random random, Path data, Path outside) {
        List<String> sources = List.of(
                data.toString(),
                data + "/file",
                data + "/out",
                data + "/../data",
                data + "/none",
                "tmpfs",
                "umount",
                "..");
        String climb = "../".repeat(12) + outside.toString().substring(1);
        List<String> names = List.of(
                "a",
                "links/out",
                "links/up",
                "links/chain",
                "links/loop",
                "links/etc",
                "links/up/b",
                "etc",
                "var",
                "..",
                ".",
                "",
                "victim",
                "bin",
                "x y",
                "proc",
                climb,
                climb + "/b");
        List<String> flags = List.of(
                "",
                ":ro",
                ":rw",
                ":ro+nosuid",
                ":x-create=none",
                ":x-create=dir",
                ":nofail",
                ":x-detach",
                ":noexec+ro");
        return IntStream.range(0, 1 + random.nextInt(3))
                .mapToObj(_ -> sources.get(random.nextInt(sources.size())) + ":/"
                        + IntStream.range(0, 1 + random.nextInt(3))
                                .mapToObj(_ -> names.get(random.nextInt(names.size())))
                                .collect(Collectors.joining("/"))
                        + flags.get(random.nextInt(flags.size())))
                .collect(Collectors.joining(","));
    }

    /** Whether the container could be made. A refusal is one sentence. */
    private boolean run(Path image, String mounts, Path job) throws Exception {
        Files.createDirectory(job);
        try {
            List<ContainerMount> parsed = ContainerMount.parseAll(mounts);
            ContainerSpec spec = ContainerSpec.of(ImageReference.parse(image.toString()))
                    .withMounts(
                            parsed.stream().map(FuzzedMountsTest::readOnlyOut).toList());
            try (NodeContainers containers = new BuiltinEngine()
                    .start(
                            spec,
                            new NodeRequest(
                                    job.resolve("containers"), job.resolve("named"), List.of(), System.getenv()))) {
                List<String> command = Stream.concat(
                                Stream.of("sh", "-c", WRITE_EVERYWHERE, "fuzz"),
                                parsed.stream().map(ContainerMount::target))
                        .toList();
                Process process = new ProcessBuilder(containers.command(
                                new WorkerRequest("w", "/", Map.of("PATH", "/bin"), Map.of(), command)))
                        .redirectErrorStream(true)
                        .redirectOutput(Redirect.DISCARD)
                        .start();
                assertThat(process.waitFor(30, TimeUnit.SECONDS)).as(mounts).isTrue();
                return process.exitValue() != 125;
            }
        } catch (ContainerException | ContainerFormatException e) {
            assertThat(e.getMessage()).as(mounts).isNotBlank().doesNotContain("\n");
            return false;
        } finally {
            assertThat(job.resolve("containers")).doesNotExist();
        }
    }

    /**
     * A link of the user's own folder may lead out, since the user has named the folder; what it leads to is mounted
     * read-only.
     */
    private static ContainerMount readOnlyOut(ContainerMount mount) {
        return mount.source().endsWith("/out") || mount.source().equals("..")
                ? new ContainerMount(mount.kind(), mount.source(), mount.target(), List.of("ro"))
                : mount;
    }

    private static Map<String, String> content(Path... folders) throws IOException {
        Map<String, String> content = new TreeMap<>();
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    content.put(
                            file.toString(),
                            Files.isSymbolicLink(file)
                                    ? Files.readSymbolicLink(file).toString()
                                    : Files.isDirectory(file) ? "folder" : Long.toString(Files.size(file)));
                }
            }
        }
        return content;
    }
}
