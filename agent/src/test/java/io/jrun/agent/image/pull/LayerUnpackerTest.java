package io.jrun.agent.image.pull;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Layers of good and of hostile images. A folder beside the root stands for the rest of the node. */
class LayerUnpackerTest {
    @TempDir
    private Path temp;

    private Path root;
    private Path outside;
    private LayerUnpacker unpacker;

    @BeforeEach
    void makeFolders() throws IOException {
        outside = Files.createDirectory(temp.resolve("outside"));
        Files.writeString(outside.resolve("secret"), "secret");
        root = Files.createDirectory(temp.resolve("root"));
        unpacker = new LayerUnpacker(new ImageRoot(root), new DiskRoom(temp, Long.MAX_VALUE));
    }

    @Test
    void layersLieOverEachOther() throws Exception {
        unpack(new TarLayer().folder("a").file("a/one", "1").file("a/two", "2").link("l", "a/one"));
        unpack(new TarLayer().file("a/two", "new").file("b/deep/three", "3").hardLink("hard", "a/one"));
        unpack(new TarLayer().file("l", "file now").folder("a/one"));

        assertThat(root.resolve("a/two")).hasContent("new");
        assertThat(root.resolve("b/deep/three")).hasContent("3");
        assertThat(root.resolve("hard")).hasContent("1");
        assertThat(root.resolve("a/one")).isEmptyDirectory();
        assertThat(Files.isSymbolicLink(root.resolve("l"))).isFalse();
        assertThat(unpacker.bytes()).isEqualTo("12".length() + "new3".length() + "file now".length());
    }

    @Test
    void compressionIsFoundByContent() throws Exception {
        unpacker.unpack(
                new ByteArrayInputStream(new TarLayer().file("g", "gzip").gzip()));
        unpacker.unpack(
                new ByteArrayInputStream(new TarLayer().file("z", "zstd").zstd()));
        unpacker.unpack(new ByteArrayInputStream(new byte[0]));

        assertThat(root.resolve("g")).hasContent("gzip");
        assertThat(root.resolve("z")).hasContent("zstd");
    }

    @Test
    void whiteoutsDeleteWhatLowerLayersHaveAndNothingElse() throws Exception {
        unpack(new TarLayer()
                .file("a/old", "")
                .file("a/sub/old", "")
                .file("b/old", "")
                .file("c", "old")
                .link("to-b", "b")
                .file("d/old", ""));
        unpack(new TarLayer()
                .file("a/new", "")
                .file("a/sub/new", "")
                .file("a/.wh..wh..opq", "")
                .file("to-b/.wh.old", "")
                .file(".wh.c", "")
                .file("c", "new") // what the layer itself has stays, also after its whiteout
                .file(".wh.d", "")
                .file(".wh.none", "")
                .file("none/.wh.none", "")
                .file(".wh..wh.plnk", ""));

        assertThat(list()).containsExactly("a", "a/new", "a/sub", "a/sub/new", "b", "c", "to-b");
        assertThat(root.resolve("c")).hasContent("new");
    }

    @Test
    void linksAreFollowedInsideTheImage() throws Exception {
        unpack(new TarLayer().link("lib", "usr/lib").link("absolute", "/var/x").link("up", "../../../../tmp/u"));
        unpack(new TarLayer().file("lib/a", "a").file("absolute/b", "b").file("up/c", "c"));

        assertThat(root.resolve("usr/lib/a")).hasContent("a");
        assertThat(root.resolve("var/x/b")).hasContent("b");
        assertThat(root.resolve("tmp/u/c")).hasContent("c");
    }

    @Test
    void nothingIsEverMadeOrDeletedOutside() throws Exception {
        String out = outside.toString();
        unpack(new TarLayer()
                .link("abs", out)
                .link("rel", "../outside")
                .link("chain", "rel")
                .link("file", out + "/secret"));
        unpack(new TarLayer()
                .file("abs/planted", "x")
                .file("rel/planted", "x")
                .file("chain/planted", "x")
                .file("file", "replaced")
                .file("abs/.wh.secret", "")
                .file("rel/.wh..wh..opq", "")
                .file(out + "/planted", "absolute names are of the root")
                .folder("abs"));
        assertRefused(new TarLayer().file("../outside/planted", ""), "leads out of the image");
        assertRefused(new TarLayer().file("a/../../outside/planted", ""), "leads out of the image");
        assertRefused(new TarLayer().link("..", "/"), "leads out of the image");
        assertRefused(new TarLayer().file(".wh...", ""), "leads out of the image");
        assertRefused(new TarLayer().hardLink("stolen", "../outside/secret"), "leads out of the image");
        assertRefused(new TarLayer().hardLink("stolen", out + "/secret"), "not a file of the image");
        assertRefused(new TarLayer().link("loop", "loop").file("loop/x", ""), "more than 40 links");
        assertRefused(new TarLayer().file("plain", "").file("plain/x", ""), "is a file instead of a folder");

        unpack(new TarLayer().link("s", out + "/secret").hardLink("h", "s"));
        assertThat(Files.isSymbolicLink(root.resolve("h"))).isTrue(); // of the link, not of what it leads to
        assertUntouched();
    }

    /** A whiteout deletes a link of a lower layer, and nothing behind the link. */
    @ParameterizedTest
    @ValueSource(strings = {".wh.LINK", ".wh..wh..opq", "LINK/.wh..wh..opq", "LINK/.wh.secret", "in/.wh.LINK"})
    void whiteoutsNeverFollowALinkOut(String whiteout) throws Exception {
        unpack(new TarLayer().link("LINK", outside.toString()).link("in/LINK", "../../../outside"));
        unpack(new TarLayer().file(whiteout, ""));
        assertUntouched();
        unpack(new TarLayer().file("LINK/secret", "of the image").file("in/LINK/secret", ""));
        assertUntouched();
        assertThat(outside.resolve("secret")).hasContent("secret");
    }

    @Test
    void anImageThatUnpacksToMoreThanTheLimitIsRefused() throws Exception {
        LayerUnpacker small = new LayerUnpacker(new ImageRoot(root), new DiskRoom(root, 3 * 4096 + 10));
        small.unpack(new TarLayer().file("a", "12345").folder("b").stream());
        assertThatThrownBy(() -> small.unpack(new TarLayer().file("c", "123456").stream()))
                .isInstanceOf(DiskRoom.LimitException.class)
                .hasMessageContaining("JRUN_IMAGE_LIMIT");
        LayerUnpacker many = new LayerUnpacker(new ImageRoot(root), new DiskRoom(root, 8 * 4096));
        TarLayer links = new TarLayer();
        for (int i = 0; i < 10; i++) {
            links.link("l" + i, "x");
        }
        assertThatThrownBy(() -> many.unpack(links.stream())).isInstanceOf(DiskRoom.LimitException.class);
    }

    @ParameterizedTest
    @CsvSource({"5, 5", "40G, 42949672960", "2k, 2048", "3M, 3145728", "1t, 1099511627776"})
    void theLimitIsASize(String text, long bytes) throws Exception {
        assertThat(DiskRoom.limit(Map.of("JRUN_IMAGE_LIMIT", text))).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "G", "1.5G", "9999999999999999999", "1P", "1 G"})
    void theLimitIsNoOtherText(String text) {
        assertThatThrownBy(() -> DiskRoom.limit(Map.of("JRUN_IMAGE_LIMIT", text)))
                .hasMessageStartingWith("JRUN_IMAGE_LIMIT=" + text + " is not a size");
    }

    @Test
    void devicesAndPrivilegesAreNotKept() throws Exception {
        unpack(new TarLayer()
                .special("null", TarConstants.LF_CHR, "")
                .special("sda", TarConstants.LF_BLK, "")
                .special("pipe", TarConstants.LF_FIFO, "")
                .file("su", "", 06755)
                .file("secret", "", 0));

        assertThat(list()).containsExactly("secret", "su");
        assertThat((int) Files.getAttribute(root.resolve("su"), "unix:mode") & 07777)
                .isEqualTo(0755);
        assertThat((int) Files.getAttribute(root.resolve("secret"), "unix:mode") & 07777)
                .isEqualTo(0400);
    }

    @Test
    void brokenArchivesFail() throws Exception {
        byte[] gzip = new TarLayer().file("a", "x".repeat(100_000)).gzip();
        byte[] half = Arrays.copyOf(gzip, gzip.length / 2);
        byte[] text = "this is no archive at all, but it is long enough for a header "
                .repeat(20)
                .getBytes(StandardCharsets.UTF_8);

        byte[] plain = new TarLayer().file("a", "1").plain();
        unpacker.unpack(new ByteArrayInputStream(Arrays.copyOf(plain, 513))); // without padding, as umoci makes them
        assertThat(root.resolve("a")).hasContent("1");
        byte[] cut = Arrays.copyOf(new TarLayer().file("b", "12").plain(), 513);
        assertThatThrownBy(() -> unpacker.unpack(new ByteArrayInputStream(cut))).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> unpacker.unpack(new ByteArrayInputStream(half)))
                .isInstanceOf(IOException.class);
        assertThatThrownBy(() -> unpacker.unpack(new ByteArrayInputStream(text)))
                .isInstanceOf(IOException.class);
    }

    /** Random layers of names that lead in and out through links: whatever they do, they do it inside. */
    @Test
    void randomLayersStayInside() throws Exception {
        long seed = Long.getLong("jrun.test.seed", 1);
        int cases = Boolean.getBoolean("jrun.soak") ? 5_000 : 60;
        Random random = new Random(seed);
        List<String> parts = List.of("a", "b", "..", ".", "", "abs", "rel", ".wh.a", ".wh..wh..opq", ".wh.abs");
        for (int i = 0; i < cases; i++) {
            TarLayer layer = new TarLayer();
            for (int j = 0; j < 12; j++) {
                String name = name(random, parts);
                String target =
                        random.nextBoolean() ? outside + "/" + name(random, parts) : "../" + name(random, parts);
                switch (random.nextInt(5)) {
                    case 0 -> layer.link(name, target);
                    case 1 -> layer.hardLink(name, target);
                    case 2 -> layer.folder(name);
                    default -> layer.file(name, "x");
                }
            }
            try {
                unpack(layer);
            } catch (IOException e) {
                // refused; what was unpacked stays, and the next layer meets it
            }
            assertThat(outside.resolve("secret"))
                    .as("seed %d, layer %d", seed, i)
                    .hasContent("secret");
            assertUntouched();
        }
    }

    private static String name(Random random, List<String> parts) {
        List<String> chosen = new ArrayList<>();
        for (int i = random.nextInt(4); i >= 0; i--) {
            chosen.add(parts.get(random.nextInt(parts.size())));
        }
        String name = String.join("/", chosen);
        return name.isEmpty() || name.endsWith("/") ? name + "a" : name;
    }

    private void unpack(TarLayer layer) throws IOException {
        unpacker.unpack(layer.stream());
    }

    private void assertRefused(TarLayer layer, String why) {
        assertThatThrownBy(() -> unpack(layer))
                .isInstanceOf(ImageRoot.PathException.class)
                .hasMessageContaining(why);
    }

    private void assertUntouched() throws IOException {
        assertThat(outside).isDirectoryContaining("glob:**/secret");
        try (var files = Files.list(outside)) {
            assertThat(files).hasSize(1);
        }
        try (var files = Files.list(temp)) {
            assertThat(files).hasSize(2);
        }
        assertThat((int) Files.getAttribute(outside.resolve("secret"), "unix:nlink"))
                .isEqualTo(1);
    }

    private List<String> list() throws IOException {
        try (var files = Files.walk(root)) {
            return files.filter(file -> !file.equals(root))
                    .filter(file -> Files.exists(file, LinkOption.NOFOLLOW_LINKS))
                    .map(file -> root.relativize(file).toString())
                    .sorted()
                    .toList();
        }
    }
}
