package io.jrun.agent.image.pull;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.image.CachedImage;
import io.jrun.agent.image.ImageCache;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pulls of images whose parts are not what their descriptors say: of a layout on disk, and of a registry. */
class ImagePullTest {
    private static final String MANIFEST = "application/vnd.oci.image.manifest.v1+json";
    private static final String OTHER_DIGEST = "sha256:" + "0".repeat(64);

    @TempDir
    private Path temp;

    private Path layout;
    private ImageCache cache;
    private byte[] layer;
    private String config = "{\"os\":\"linux\",\"architecture\":\""
            + ImageManifest.nodePlatform().substring(6) + "\"}";

    @BeforeEach
    void makeLayout() throws Exception {
        layout = temp.resolve("layout");
        Files.createDirectories(layout.resolve("blobs/sha256"));
        Files.writeString(layout.resolve("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}");
        cache = ImageCache.open(
                Map.of(ImageCache.VARIABLE, temp.resolve("cache").toString()));
        layer = new TarLayer().file("etc/new", "content").plain();
    }

    private String store(byte[] content) throws IOException {
        String digest = Sha256Stream.digest(content);
        Files.write(blob(digest), content);
        return digest;
    }

    private Path blob(String digest) {
        return layout.resolve("blobs/sha256/" + digest.substring("sha256:".length()));
    }

    private String manifest(long layerBytes) throws IOException {
        byte[] settings = config.getBytes(StandardCharsets.UTF_8);
        return "{\"schemaVersion\":2,\"mediaType\":\"" + MANIFEST + "\",\"config\":{\"mediaType\":\"c\",\"digest\":\""
                + store(settings) + "\",\"size\":" + settings.length
                + "},\"layers\":[{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"" + store(layer)
                + "\",\"size\":" + layerBytes + "}]}";
    }

    private String index(byte[] manifest, String digest) {
        return "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"" + MANIFEST + "\",\"digest\":\"" + digest
                + "\",\"size\":" + manifest.length + ",\"platform\":{\"os\":\"linux\",\"architecture\":\""
                + ImageManifest.nodePlatform().substring(6) + "\"}}]}";
    }

    private byte[] prepare(long layerBytes) throws IOException {
        byte[] manifest = manifest(layerBytes).getBytes(StandardCharsets.UTF_8);
        Files.writeString(layout.resolve("index.json"), index(manifest, store(manifest)));
        return manifest;
    }

    private Path pull() throws Exception {
        return pull(Long.MAX_VALUE);
    }

    private Path pull(long limit) throws Exception {
        try (ImageSource source = StoredImages.open(layout.toString())) {
            return new ImagePull(source, cache, limit, _ -> {}, _ -> {}).run();
        }
    }

    private void assertNothingIsLeft() throws IOException {
        assertThat(cache.list()).isEmpty();
        assertThat(cache.folder().resolve("work")).isEmptyDirectory();
    }

    @Test
    void anImageOfALayoutIsPrepared() throws Exception {
        prepare(layer.length);
        assertThat(CachedImage.root(pull()).resolve("etc/new")).hasContent("content");
    }

    @Test
    void aManifestOfALayoutWithAnotherDigestIsRefused() throws Exception {
        byte[] manifest = prepare(layer.length);
        Files.write(
                blob(Sha256Stream.digest(manifest)),
                (new String(manifest, StandardCharsets.UTF_8) + " ").getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(this::pull)
                .isInstanceOf(ContainerException.class)
                .hasMessageContaining(
                        "the content of the manifest " + Sha256Stream.digest(manifest) + " has the digest");
        assertNothingIsLeft();
    }

    @Test
    void aLayerOfTheSameSizeWithAnotherContentIsRefused() throws Exception {
        prepare(layer.length);
        byte[] other = layer.clone();
        other[other.length - 1] ^= 1;
        Files.write(blob(Sha256Stream.digest(layer)), other);
        assertThatThrownBy(this::pull)
                .hasMessageContaining("the content of the layer " + Sha256Stream.digest(layer) + " has the digest");
        assertNothingIsLeft();
    }

    @Test
    void aLayerOfAnotherSizeIsRefused() throws Exception {
        for (long bytes : new long[] {layer.length - 1, layer.length + 1}) {
            prepare(bytes);
            assertThatThrownBy(this::pull).hasMessageContaining(" has " + layer.length + " bytes instead of " + bytes);
        }
        assertNothingIsLeft();
    }

    @Test
    void anImageOfAnotherPlatformIsRefusedBeforeItsLayersAreCopied() throws Exception {
        config = "{\"os\":\"linux\",\"architecture\":\"s390x\"}";
        prepare(layer.length);
        Files.delete(blob(Sha256Stream.digest(layer)));
        assertThatThrownBy(this::pull)
                .hasMessageContaining("is not made for " + ImageManifest.nodePlatform() + ", only for linux/s390x");
        config = "{}"; // An old image may name no platform.
        prepare(layer.length);
        assertThat(pull()).isDirectory();
    }

    @Test
    void aLayoutWithoutAnIndexAndALayoutOfOtherPlatformsAreRefused() throws Exception {
        assertThatThrownBy(this::pull).hasMessageContaining("has no file index.json");
        Path index = Files.createDirectory(layout.resolve("index.json"));
        assertThatThrownBy(this::pull).hasMessageContaining("index.json of the image is no regular file");
        Files.delete(index);
        Files.writeString(
                index,
                "{\"manifests\":[{\"digest\":\"" + OTHER_DIGEST
                        + "\",\"size\":1,\"platform\":{\"os\":\"linux\",\"architecture\":\"s390x\"}},{\"digest\":\"sha256:"
                        + "1".repeat(64)
                        + "\",\"size\":1,\"platform\":{\"os\":\"plan9\",\"architecture\":\"mips\"}}]}");
        assertThatThrownBy(this::pull).hasMessageContaining("only for linux/s390x, plan9/mips");
        assertThat(cache.list()).isEmpty();
    }

    @Test
    void anImageLargerThanTheLimitLeavesNothing() throws Exception {
        prepare(layer.length);
        assertThatThrownBy(() -> pull(4096)).hasMessageContaining("is refused: its files have more than 0.0 MB");
        assertNothingIsLeft();
    }

    @Test
    void theRestOfAKilledPullIsDeletedAndARunningPullIsKept() throws Exception {
        Path dead = rest(OTHER_DIGEST);
        assertThat(cache.sweep()).isEqualTo(5);
        assertThat(dead).doesNotExist();
        rest(OTHER_DIGEST);
        try (FileChannel lock = FileChannel.open(
                        cache.lock(OTHER_DIGEST), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = lock.lock()) {
            assertThat(cache.sweep()).isZero();
            assertThat(dead).isDirectory();
        }
        prepare(layer.length);
        pull();
        assertThat(dead).doesNotExist();
    }

    /** Locks of files belong to processes: the lock of another process is another kind than one of this process. */
    @Test
    void aPullOfAnotherProcessIsKept() throws Exception {
        Path work = rest(OTHER_DIGEST);
        String holder = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX);"
                + " print(flush=True); sys.stdin.read()";
        Process process = new ProcessBuilder(
                        "python3", "-c", holder, cache.lock(OTHER_DIGEST).toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            assertThat(process.getInputStream().read()).as("the lock is held").isEqualTo('\n');
            assertThat(cache.sweep()).isZero();
            assertThat(work).isDirectory();
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertThat(cache.sweep()).isEqualTo(5);
        assertThat(work).doesNotExist();
    }

    private Path rest(String digest) throws IOException {
        Path work = Files.createDirectory(cache.work(digest));
        Files.writeString(Files.createDirectory(work.resolve("blobs")).resolve("layer"), "12345");
        return work;
    }

    @Test
    void manifestsOfARegistryAreVerified() throws Exception {
        byte[] good = manifest(layer.length).getBytes(StandardCharsets.UTF_8);
        byte[] bad = (manifest(layer.length) + " ").getBytes(StandardCharsets.UTF_8);
        String digest = Sha256Stream.digest(good);
        String index = index(good, digest);
        Map<String, byte[]> answers = new HashMap<>();
        try (RunningServer server = new RunningServer(answers)) {
            answers.put("/v2/app/manifests/" + digest, bad);
            assertThatThrownBy(() -> read(server, "@" + digest)).hasMessageContaining("has another digest");
            answers.put("/v2/app/manifests/v1", index.getBytes(StandardCharsets.UTF_8));
            assertThatThrownBy(() -> read(server, ":v1")).hasMessageContaining("has another digest");
            answers.put("/v2/app/manifests/" + digest, good);
            assertThat(read(server, "@" + digest).digest()).isEqualTo(digest);
            assertThat(read(server, ":v1").digest()).isEqualTo(digest);
        }
    }

    private static ImageManifest read(RunningServer server, String what) throws Exception {
        ImageReference.Registry image = (ImageReference.Registry)
                ImageReference.parse("localhost:" + server.server.getAddress().getPort() + "#app" + what);
        try (RegistrySource source = new RegistrySource(image, Map.of())) {
            return ImageManifest.read(source);
        }
    }

    /** A registry that answers with any bytes. */
    private record RunningServer(HttpServer server) implements AutoCloseable {
        RunningServer(Map<String, byte[]> answers) throws IOException {
            this(HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
            server.createContext("/", exchange -> {
                byte[] body = answers.getOrDefault(exchange.getRequestURI().getPath(), new byte[0]);
                exchange.getResponseHeaders()
                        .set(
                                "Content-Type",
                                new String(body, StandardCharsets.UTF_8).contains("manifests")
                                        ? "application/vnd.oci.image.index.v1+json"
                                        : MANIFEST);
                exchange.sendResponseHeaders(
                        body.length == 0 ? 404 : 200,
                        exchange.getRequestMethod().equals("HEAD") ? -1 : body.length);
                if (!exchange.getRequestMethod().equals("HEAD")) {
                    exchange.getResponseBody().write(body);
                }
                exchange.close();
            });
            server.start();
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }
}
