package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Everybody can make a folder of a foreseeable name in /var/tmp; code must come from a folder of this user's alone. */
class NativeCacheTest {
    private static final int ANOTHER_USER = 4711;

    @TempDir
    private Path folder;

    private final List<String> notices = new ArrayList<>();
    private Path usual;
    private Path home;

    @BeforeEach
    void makeFolders() throws IOException {
        usual = folder.resolve("var").resolve("jrun-" + Files.getAttribute(folder, "unix:uid"));
        home = folder.resolve("home");
        for (Path each : List.of(folder.resolve("var"), home, folder.resolve("temporary"))) {
            Files.createDirectory(each);
        }
    }

    private Path directory(Map<String, String> environment) {
        return NativeCache.directory(folder.resolve("var"), environment, notices::add);
    }

    private Map<String, String> environment() {
        return Map.of(
                "HOME", home.toString(), "TMPDIR", folder.resolve("temporary").toString());
    }

    @Test
    void isAFolderOfThisNodeThatNoOtherUserCanEnter() throws IOException {
        assertThat(directory(environment())).isEqualTo(usual.resolve("natives"));
        assertThat(directory(environment())).as("once more").isEqualTo(usual.resolve("natives"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(usual)))
                .isEqualTo("rwx------");
        assertThat(notices).isEmpty();
    }

    @Test
    void aFolderThatOthersCanWriteToIsNotUsed() throws IOException {
        Files.createDirectory(usual);
        Files.setPosixFilePermissions(usual, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertIsInTheUsersCache("mode rwxrwxrwx");
    }

    @Test
    void aLinkIsNotFollowed() throws IOException {
        Files.createSymbolicLink(usual, Files.createDirectory(folder.resolve("trap")));
        assertIsInTheUsersCache("is no directory");
    }

    @Test
    void aFileIsNotUsed() throws IOException {
        Files.createFile(usual);
        assertIsInTheUsersCache("is no directory");
    }

    @Test
    void aFolderOfAnotherUserIsNotUsed() throws IOException {
        assumeTrue(
                Files.getAttribute(folder, "unix:uid").equals(0), "not root: a folder of another user cannot be made");
        Files.setAttribute(Files.createDirectory(usual), "unix:uid", ANOTHER_USER, LinkOption.NOFOLLOW_LINKS);
        assertIsInTheUsersCache("(owner " + ANOTHER_USER);
    }

    private void assertIsInTheUsersCache(String reason) {
        Path found = directory(environment());
        assertThat(found).isEqualTo(home.resolve(".cache").resolve("jrun").resolve("natives"));
        assertThat(notices).singleElement().asString().contains(usual.toString(), reason, found.toString());
    }

    @Test
    void theUsersCacheIsWhereTheUserSays() throws IOException {
        Files.createFile(usual);
        Path chosen = folder.resolve("chosen");
        assertThat(directory(Map.of("HOME", home.toString(), "XDG_CACHE_HOME", chosen.toString())))
                .isEqualTo(chosen.resolve("jrun").resolve("natives"));
        assertThat(directory(Map.of("HOME", home.toString(), "XDG_CACHE_HOME", "relative")))
                .isEqualTo(home.resolve(".cache").resolve("jrun").resolve("natives"));
    }

    @Test
    void whereNeitherCanBeUsedItIsANewFolder() throws IOException {
        Files.createFile(usual);
        Files.createFile(home.resolve(".cache"));
        Path found = directory(environment());
        Path own = found.getParent();
        assertThat(own).isNotNull().hasParent(folder.resolve("temporary"));
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(own)))
                .isEqualTo("rwx------");
        assertThat(directory(environment())).isNotEqualTo(found);
        assertThat(notices).first().asString().contains("for this process only", usual.toString(), home.toString());
    }
}
