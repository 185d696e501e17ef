package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OwnerFilterTest {
    @TempDir
    private Path folder;

    /** The filter holds for the processes of the thread, and for no other process. */
    @Test
    void changesOfOwnersAndUsersSucceedWithoutAnEffect() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));
        Object owner = Files.getAttribute(file, "unix:uid");
        CompletableFuture<String> said = new CompletableFuture<>();
        Thread.ofPlatform().start(() -> {
            try {
                OwnerFilter.install();
                String script =
                        "chown 4711:4712 " + file + " && chown -h 4711 " + file + " && grep Seccomp: /proc/self/status"
                                + " && setpriv --reuid 4711 --regid 4711 --clear-groups sh -c 'id -u; id -g'"
                                + " && chmod 600 " + file + " && mkdir " + folder + "/made && echo end";
                said.complete(run("sh", "-c", script));
            } catch (Exception e) {
                said.completeExceptionally(e);
            }
        });

        assertThat(said.get().lines())
                .map(line -> line.replaceAll("\\s+", " "))
                .containsExactly(
                        "Seccomp: 2",
                        owner.toString(),
                        Files.getAttribute(file, "unix:gid").toString(),
                        "end");
        assertThat(Files.getAttribute(file, "unix:uid")).isEqualTo(owner);
        assertThat(run("grep", "Seccomp:", "/proc/self/status")).contains("0");
    }

    private static String run(String... words) throws Exception {
        Process process =
                new ProcessBuilder(List.of(words)).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return said;
    }
}
