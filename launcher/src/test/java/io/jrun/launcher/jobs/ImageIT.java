package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.image.FolderDeletion;
import io.jrun.agent.image.ImagePreparer;
import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images of real registries, layouts and archives, the cache on the node, and {@code jrun image}. */
class ImageIT extends RealJobs {
    private static final Path BUSYBOX = Path.of("/usr/bin/busybox");
    private static final Path CLASS_PATH_HOME = Path.of(Objects.requireNonNull(System.getProperty("jrun.home")));

    @TempDir
    private static Path shared;

    private static Path layout;
    private static TestRegistry passwords;
    private static TokenService tokens;
    private static TestRegistry bearer;

    private final List<String> progress = Collections.synchronizedList(new ArrayList<>());

    @BeforeAll
    static void makeImageAndRegistries() throws Exception {
        for (String program : List.of("docker-registry", "skopeo", "umoci", "busybox", "mksquashfs")) {
            assumeTrue(TestCommand.exists(program), "needs the program " + program);
        }
        assumeTrue(System.getProperty("user.name").equals("root"), "mounts a small file system as root");
        layout = shared.resolve("layout");
        String image = layout + ":v1";
        Path root = Files.createDirectories(shared.resolve("root"));
        Files.createDirectories(root.resolve("bin"));
        Files.createDirectories(root.resolve("etc"));
        Files.copy(BUSYBOX, root.resolve("bin/busybox"));
        for (String applet : List.of("sh", "ls", "cat", "env", "sleep")) {
            Files.createSymbolicLink(root.resolve("bin").resolve(applet), Path.of("busybox"));
        }
        Files.writeString(root.resolve("etc/old"), "of the lowest layer");
        Path upper = Files.createDirectories(shared.resolve("upper"));
        Files.writeString(upper.resolve("new"), "of the upper layer");
        TestCommand.run("umoci", "init", "--layout", layout.toString());
        TestCommand.run("umoci", "new", "--image", image);
        TestCommand.run("umoci", "insert", "--image", image, root.toString(), "/");
        TestCommand.run("umoci", "insert", "--image", image, "--whiteout", "/etc/old");
        TestCommand.run("umoci", "insert", "--image", image, upper.toString(), "/etc");
        TestCommand.run(
                "umoci",
                "config",
                "--image",
                image,
                "--config.env=OF_IMAGE=it's \"quoted\"",
                "--config.workingdir=/made/by/jrun",
                "--config.entrypoint=/bin/env",
                "--config.entrypoint=ENTERED=yes");
        Path storage = shared.resolve("storage");
        passwords = TestRegistry.withPassword(shared, storage);
        tokens = new TokenService(shared);
        bearer = TestRegistry.withTokens(shared, storage, tokens);
        push("oci:" + image, "team/app:v1");
    }

    private static void push(String from, String name, String... more) throws Exception {
        List<String> words = new ArrayList<>(List.of("skopeo", "copy", "-q", "--dest-tls-verify=false"));
        words.addAll(List.of(more));
        words.addAll(List.of("--dest-creds=me:secret", from, "docker://" + passwords.host() + "/" + name));
        TestCommand.run(words.toArray(String[]::new));
    }

    @AfterAll
    static void stop() throws Exception {
        for (AutoCloseable each :
                Stream.of(passwords, bearer, tokens).filter(Objects::nonNull).toList()) {
            each.close();
        }
    }

    @BeforeEach
    void writeCredentials() throws IOException {
        jrun.with("JRUN_IMAGE_CACHE", cache().toString());
        Files.createDirectories(folder.resolve(".config/enroot"));
        Files.writeString(
                folder.resolve(".config/enroot/.credentials"),
                "# of the test\nmachine other.io login me password wrong\nmachine " + passwords.host()
                        + " login me\n  password secret\n");
        Files.createDirectories(folder.resolve(".docker"));
        String both = Base64.getEncoder().encodeToString("me:secret".getBytes(StandardCharsets.UTF_8));
        Files.writeString(
                folder.resolve(".docker/config.json"),
                "{\"auths\":{\"" + bearer.host() + "\":{\"auth\":\"" + both + "\"}}}");
    }

    private Path cache() {
        return folder.resolve("images");
    }

    private String app() {
        return passwords.host() + "#team/app:v1";
    }

    @Test
    void aJobRunsInAnImageOfARegistryWhichIsPreparedOnce() {
        String script = "echo $RANK $(pwd) $OF_IMAGE $ENTERED $(cat /etc/new) $(ls /etc/old)";
        Result first = jrun.run("--container-image=" + app(), "--nproc-per-node=2", "sh", "-c", script);
        Result again = jrun.run("--container-image=" + app(), "--container-entrypoint", "sh", "-c", script);

        String seen = " /made/by/jrun it's \"quoted\" of the upper layer";
        assertThat(first.sortedOut().stream().map(line -> line.replaceFirst("^\\[.*?\\] ", "")))
                .containsExactly("0" + seen, "1" + seen);
        assertThat(first.err()).containsOnlyOnce("prepared in").contains("in 3 layers");
        assertThat(again.out()).contains("0 /made/by/jrun it's \"quoted\" yes of the upper layer");
        assertThat(again.err()).doesNotContain("prepared in");
    }

    @Test
    void tokensAndTheCompressionsOfLayers() throws Exception {
        assertThat(root(prepare(bearer.host() + "#team/app:v1"))).contains("etc/new");
        for (String format : RunSeed.sample(List.of("zstd", "gzip"), 1)) {
            Path copy = folder.resolve(format);
            TestCommand.run(
                    "skopeo", "copy", "-q", "--dest-compress-format=" + format, "oci:" + layout + ":v1", "dir:" + copy);
            push("dir:" + copy, "team/" + format + ":v1", "--dest-compress-format=" + format);
            assertThat(root(prepare(bearer.host() + "/team/" + format + ":v1"))).contains("etc/new");
        }
        Path ociArchive = folder.resolve("oci.tar");
        Path dockerArchive = folder.resolve("docker.tar");
        TestCommand.run("skopeo", "copy", "-q", "oci:" + layout + ":v1", "oci-archive:" + ociArchive);
        TestCommand.run("skopeo", "copy", "-q", "oci:" + layout + ":v1", "docker-archive:" + dockerArchive + ":app:v1");
        List<String> locals =
                List.of(layout.toString(), layout + ":v1", ociArchive.toString(), dockerArchive.toString());
        for (String local : RunSeed.sample(locals, 1)) {
            assertThat(root(prepare(local))).contains("etc/new").doesNotContain("etc/old");
        }
    }

    @Test
    void eachCauseIsOneSentenceThatSaysWhatToDo() throws Exception {
        assertThatThrownBy(() -> prepare(passwords.host() + "#team/app:none"))
                .hasMessage("the registry " + passwords.host() + " has no image " + passwords.host()
                        + "#team/app:none; check the name and the tag");
        Files.delete(folder.resolve(".config/enroot/.credentials"));
        assertThatThrownBy(() -> prepare(app()))
                .hasMessageContaining("requires a user and a password")
                .hasMessageContaining("(401)")
                .hasMessageContaining("docker login");
        Files.writeString(
                folder.resolve(".config/enroot/.credentials"),
                "machine " + passwords.host() + " login me password wrong\n");
        assertThatThrownBy(() -> prepare(app()))
                .hasMessageContaining("to the user me of " + folder.resolve(".config/enroot/.credentials") + " (401)");
        assertThatThrownBy(() -> prepare("you@" + app())).hasMessageContaining("no password is known for the user you");
        assertThatThrownBy(() -> prepare("localhost:1#app")).hasMessageContaining("cannot be reached");
        assertThat(entries()).isEmpty();
    }

    @Test
    void aBrokenPullEndsWithOneSentenceAndADeadHolderBlocksNoPull() throws Exception {
        try (BrokenRegistry broken = new BrokenRegistry(false)) {
            assertThatThrownBy(() -> prepare(broken.image())).hasMessageContaining("broke off 3 times");
            assertThat(broken.layers).hasValue(3);
            assertNothingHalfMade();
        }
        try (BrokenRegistry still = new BrokenRegistry(true)) {
            CompletableFuture<Throwable> first = failure(still.image());
            JRun.waitFor(() -> still.layers.get() == 1, "the first pull");
            CompletableFuture<Throwable> second = failure(still.image());
            JRun.waitFor(() -> progress.toString().contains("waiting for another jrun"), "the second to wait");
            ProcessHandle holder = pullers(still.image()).getFirst();
            holder.destroyForcibly();
            assertThat(first.get()).hasMessageContaining("ended with exit code 137");
            JRun.waitFor(() -> still.layers.get() == 2, "the second to take over");
            pullers(still.image()).forEach(ProcessHandle::destroyForcibly);
            assertThat(second.get()).isInstanceOf(ContainerException.class);
        }
    }

    private CompletableFuture<Throwable> failure(String image) {
        CompletableFuture<Throwable> failure = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                prepare(image);
                failure.completeExceptionally(new AssertionError("prepared"));
            } catch (ContainerException | InterruptedException e) {
                failure.complete(e);
            }
        });
        return failure;
    }

    /** The processes of this test that pull an image, the oldest first. */
    private static List<ProcessHandle> pullers(String image) {
        return ProcessHandle.current()
                .children()
                .filter(child -> Stream.of(child.info().arguments().orElse(new String[0]))
                        .anyMatch(image::equals))
                .sorted(java.util.Comparator.comparing(
                        child -> child.info().startInstant().orElseThrow()))
                .toList();
    }

    @Test
    void twoPreparersOfOneImageWaitForOne() throws Exception {
        List<CompletableFuture<Path>> both = Stream.of(1, 2)
                .map(_ -> CompletableFuture.supplyAsync(() -> {
                    try {
                        return prepare(layout.toString());
                    } catch (ContainerException | InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }))
                .toList();
        assertThat(both.get(0).get()).isEqualTo(both.get(1).get());
        assertThat(progress.stream().filter(line -> line.contains("prepared in")))
                .hasSize(1);
    }

    @Test
    void aFullDiskIsSaidAndLeavesNothing() throws Exception {
        Files.createDirectories(cache());
        TestCommand.run("mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "small", cache().toString());
        try {
            assertThatThrownBy(() -> prepare(layout.toString()))
                    .hasMessageContaining("no space for the image " + layout)
                    .hasMessageContaining("jrun image prune");
            assertNothingHalfMade();
        } finally {
            TestCommand.run("umount", cache().toString());
        }
    }

    @Test
    void commandsAboutImages() throws Exception {
        Result pulled = jrun.run("image", "pull", "--json", app());
        assertThat(pulled.out()).contains("\"digest\":\"sha256:", "\"folder\":\"" + cache());
        assertThat(jrun.run("image", "ls").out()).contains(app());
        assertThat(jrun.run("image", "inspect", app()).out())
                .contains("workingDir     /made/by/jrun", "env            OF_IMAGE=it's \"quoted\"");
        Path file = folder.resolve("app.sqsh");
        assertThat(jrun.run("image", "import", app(), "-o", "app.sqsh").exitCode())
                .isZero();
        assertThat(jrun.run("image", "inspect", "app.sqsh").out()).contains("zstd", "OF_IMAGE=");
        assertThat(jrun.run("--container-image=" + file, "cat", "/etc/new").out())
                .contains("of the upper layer");
        JRun.Running job = jrun.start("--container-image=" + app(), "sh", "-c", "echo ready; exec sleep 1000")
                .awaitOutput("ready");
        assertThat(jrun.run("image", "prune", "--older-than=0").out()).contains("0 images removed");
        assertThat(jrun.run("image", "rm", app()).err()).contains("a job on this node uses the image");
        job.signal("TERM");
        job.await();
        String name = "it-" + Leftovers.OWNER;
        Path container = Path.of("/var/tmp/jrun-0/containers", name);
        try {
            Result made = jrun.run("--container-name=" + name, "--container-image=" + app(), "cat", "/etc/new");
            assertThat(made.exitCode()).as(made.err()).isZero();
            assertThat(jrun.run("image", "prune", "--older-than=0").out()).contains("0 images removed");
            assertThat(jrun.run("image", "rm", app()).err())
                    .contains("the container " + name + " on this node is made from the image", "delete " + container);
        } finally {
            FolderDeletion.delete(container);
        }
        Path killed =
                Files.createDirectories(cache().resolve("work").resolve("a".repeat(64))); // as a killed pull leaves it
        Files.write(killed.resolve("layer"), new byte[20_000_000]);
        assertThat(jrun.run("image", "prune", "--older-than=0").out())
                .contains("removed 20.0 MB of pulls that were interrupted")
                .containsPattern("1 images removed, 2[1-9]\\.\\d MB in all");
        assertThat(entries()).isEmpty();
        Path library = Files.createDirectories(folder.resolve("jdk/server")).resolve("libjvm.so");
        Files.writeString(library, "a".repeat(1 << 20));
        Result created = jrun.run("image", "create", "made.sqsh", "--rootfs=" + folder.resolve("jdk"));
        assertThat(created.exitCode()).as(created.err()).isZero();
        assertThat(folder.resolve("made.sqsh").toFile().length()).isGreaterThan(1 << 20); // not compressed
        List<String> wrong = List.of(
                "image",
                "image lss",
                "image pull",
                "image pull Bad",
                "image rm none",
                "image ls --older-than=3",
                "image create made.sqsh --rootfs=/nowhere",
                "image create other.sqsh");
        for (String bad : RunSeed.sample(wrong, 3)) {
            Result refused = jrun.run(bad.split(" ", -1));
            assertThat(refused.exitCode()).as(bad).isEqualTo(2);
            assertThat(refused.err().lines()).hasSize(1);
        }
    }

    private Path prepare(String image) throws ContainerException, InterruptedException {
        Map<String, String> environment = new HashMap<>(
                Map.of("HOME", folder.toString(), "JRUN_IMAGE_CACHE", cache().toString(), "PATH", "/usr/bin:/bin"));
        Path lib = CLASS_PATH_HOME.resolve("lib");
        return new ImagePreparer(lib + "/launcher/*:" + lib + "/image/*", environment, progress::add)
                .prepare(ImageReference.parse(image));
    }

    private static List<String> root(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.map(file -> root.relativize(file).toString()).toList();
        }
    }

    private List<Path> entries() throws IOException {
        if (!Files.exists(cache())) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(cache())) {
            return files.filter(file -> file.getFileName().toString().startsWith("sha256-"))
                    .toList();
        }
    }

    private void assertNothingHalfMade() throws IOException {
        assertThat(entries()).isEmpty();
        assertThat(cache().resolve("work")).isEmptyDirectory();
    }
}
