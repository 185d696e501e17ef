package io.jrun.agent.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NamedContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.TestContainers;
import io.jrun.agent.container.builtin.BuiltinEngine;
import io.jrun.agent.files.FileStaging;
import io.jrun.agent.files.PrivateFolder;
import io.jrun.agent.image.ImageCache;
import io.jrun.agent.log.AgentLog;
import io.jrun.agent.proto.OpenJob;
import io.jrun.agent.worker.NativeLibraries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Another user has guessed the name of a folder of this user, and has made the folder first. */
class ForeignFolderTest {
    private static final int OTHER = 65534;
    private static final String IMAGE = "/images/of-the-other-user";

    @TempDir
    private Path temp;

    private Path shared;

    /** The part of the path that the other user has made. */
    enum Trap {
        /** A folder of the other user, with everything in it. */
        FOLDER,
        /** A link to a folder of the other user. */
        LINK,
        /** A folder of this user that all users may write to. */
        OPEN
    }

    /** A use of a folder with a name that everybody can guess. */
    enum Use {
        CONTAINERS("user/containers") {
            @Override
            void run(Path folder) throws Exception {
                new NamedContainers(folder).image("kept");
            }
        },
        CONTAINER("user/containers/kept") {
            @Override
            void run(Path folder) throws Exception {
                new NamedContainers(folder.resolveSibling("")).claim("kept");
            }
        },
        JOINED_CONTAINER("user") {
            @Override
            void run(Path folder) throws Exception {
                start(folder, ContainerName.parse("kept:exec"));
            }
        },
        NEW_CONTAINER("user/containers") {
            @Override
            void run(Path folder) throws Exception {
                start(folder.resolveSibling(""), ContainerName.parse("kept"));
            }
        },
        IMAGES("user/images") {
            @Override
            void run(Path folder) throws Exception {
                ImageCache.open(Map.of("JRUN_IMAGE_CACHE", folder.toString()));
            }
        },
        LOCKS_OF_IMAGES("user/images/locks") {
            @Override
            void run(Path folder) throws Exception {
                ImageCache.open(
                        Map.of("JRUN_IMAGE_CACHE", folder.resolveSibling("").toString()));
            }
        },
        NATIVE_LIBRARIES("user") {
            @Override
            void run(Path folder) throws Exception {
                List<String> said = new ArrayList<>();
                Path jar = Files.writeString(folder.resolveSibling("pytorch-1-linux-x86_64.jar"), "");
                new NativeLibraries(List.of(jar), folder.resolve("natives"), Optional.empty()).fill(said::add);
                throw new IOException(String.join(" ", said));
            }
        },
        LOGS("run") {
            @Override
            void run(Path folder) throws Exception {
                List<String> said = new ArrayList<>();
                new AgentLog(folder, "host", said::add).write("line");
                throw new IOException(String.join(" ", said));
            }
        },
        STAGED_FILES("jrun") {
            @Override
            void run(Path folder) throws Exception {
                OpenJob job = OpenJob.newBuilder()
                        .setRunId("run")
                        .setWorkingDir("/nonexistent")
                        .build();
                try (FileStaging staging = new FileStaging(
                        job, Map.of("XDG_CACHE_HOME", folder.resolveSibling("").toString()), _ -> {})) {
                    staging.begin("host");
                    staging.placed().join();
                }
            }
        };

        private final String path;

        Use(String path) {
            this.path = path;
        }

        abstract void run(Path folder) throws Exception;

        private static void start(Path user, ContainerName name) throws Exception {
            ContainerSpec spec = TestContainers.spec(IMAGE, name.text(), "", List.of());
            NodeRequest node = new NodeRequest(
                    user.resolveSibling("scratch"), user.resolve("containers"), List.of(), System.getenv());
            new BuiltinEngine().start(spec, node).close();
        }
    }

    @BeforeEach
    void makeFolder() throws IOException {
        assumeTrue(Files.getAttribute(temp, "unix:uid").equals(0), "only root can make folders of another user");
        shared = Files.createDirectory(temp.resolve("shared"));
    }

    static Stream<Arguments> traps() {
        return Stream.of(Use.values()).flatMap(use -> Stream.of(Trap.values()).map(trap -> Arguments.of(use, trap)));
    }

    @ParameterizedTest
    @MethodSource("traps")
    void theFolderIsRefusedAndNothingIsWrittenThere(Use use, Trap trap) throws Exception {
        Path folder = shared.resolve(use.path);
        PrivateFolder.claim(folder.resolveSibling(""));
        Path theirs = temp.resolve("theirs");
        plant(theirs);
        switch (trap) {
            case FOLDER -> Files.move(theirs, folder);
            case LINK -> Files.createSymbolicLink(folder, theirs);
            case OPEN -> {
                Files.move(theirs, folder);
                Files.setAttribute(folder, "unix:uid", 0);
                Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
            }
        }
        Path planted = trap == Trap.LINK ? theirs : folder;
        List<Path> before = tree(planted);

        assertThatThrownBy(() -> use.run(folder))
                .hasMessageContaining(folder
                        + switch (trap) {
                            case FOLDER -> " belongs to user nobody, not to root";
                            case LINK -> " is a symbolic link, to " + theirs;
                            case OPEN -> " is writable for other users (mode rwxrwxrwx)";
                        });

        assertThat(tree(planted)).isEqualTo(before);
    }

    /** A container with a running job, an image and a lock, as a victim would find them. */
    private static void plant(Path theirs) throws IOException {
        for (String container : List.of("kept", "containers/kept", ".")) {
            Path made = Files.createDirectories(theirs.resolve(container)).normalize();
            Files.writeString(made.resolve("image"), IMAGE);
            Files.writeString(made.resolve("lock"), "");
            String pid = Long.toString(ProcessHandle.current().pid());
            Files.writeString(Files.createDirectory(made.resolve("running")).resolve(pid), pid + "\n" + theirs + "\n");
        }
        for (Path file : tree(theirs)) {
            Files.setAttribute(file, "unix:uid", OTHER, LinkOption.NOFOLLOW_LINKS);
        }
    }

    private static List<Path> tree(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.sorted().toList();
        }
    }
}
