package io.jrun.agent.container.builtin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.TestContainers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs that use the same root with a name one after the other, and at the same time. */
class NamedRootTest {
    private static final int JOBS = 4;

    @TempDir
    private Path temp;

    private Path image;

    @BeforeEach
    void makeImage() throws Exception {
        assumeTrue(BusyboxImage.isPossible(), "needs /usr/bin/busybox, of busybox-static");
        assumeTrue(System.getProperty("user.name").equals("root"), "makes containers as root");
        image = BusyboxImage.folder(temp.resolve("image"));
    }

    @Test
    void jobsThatStartAtTheSameTimeShareTheRoot() throws Exception {
        List<NodeContainers> made = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(JOBS)) {
            List<Future<NodeContainers>> starting = new ArrayList<>();
            for (int job = 0; job < JOBS; job++) {
                Path scratch = Files.createDirectory(temp.resolve("job" + job)).resolve("containers");
                starting.add(threads.submit(() -> start(scratch)));
            }
            for (Future<NodeContainers> each : starting) {
                made.add(each.get());
            }
            TestContainers.output(made.getFirst(), "touch /of-first");
            assertThat(TestContainers.output(made.getLast(), "ls /")).contains("of-first\n");
        } finally {
            made.forEach(NodeContainers::close);
        }
    }

    @Test
    void theLineOfTheUserIsWrittenOnce() throws Exception {
        for (int job = 0; job < 3; job++) {
            try (NodeContainers containers =
                    start(Files.createDirectory(temp.resolve("job" + job)).resolve("containers"))) {
                assertThat(TestContainers.output(containers, "grep -c ^root: /etc/passwd; grep -c ^root: /etc/group"))
                        .isEqualTo("1\n1\n");
            }
        }
    }

    @Test
    void noOtherUserSeesTheFilesOfTheRoot() throws Exception {
        start(Files.createDirectory(temp.resolve("job")).resolve("containers")).close();
        for (String folder : List.of("named", "named/shared")) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(temp.resolve(folder))))
                    .as(folder)
                    .isEqualTo("rwx------");
        }
    }

    private NodeContainers start(Path scratch) throws ContainerException, InterruptedException {
        ContainerSpec spec = TestContainers.spec(image.toString(), "shared", "", List.of());
        return new BuiltinEngine()
                .start(spec, new NodeRequest(scratch, temp.resolve("named"), List.of(), System.getenv()));
    }
}
