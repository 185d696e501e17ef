package io.jrun.agent.container.builtin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.TestContainers;
import io.jrun.agent.container.UnsharedNamespace;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
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

    @Test
    void aSecondContainerBesideARunningOneSharesTheFilesOnly() throws Exception {
        String network = "readlink /proc/self/ns/net";
        image = BusyboxImage.squashfs(image, temp.resolve("image.sqsh"));
        NodeContainers first = start("shared", "tmpfs:/m", List.of(UnsharedNamespace.NET));
        NodeContainers second = start("shared:no_exec", "tmpfs:/n", List.of());
        try {
            String networkOfFirst = TestContainers.output(first, "touch /of-first /tmp/of-first; " + network);
            assertThat(TestContainers.output(second, "ls /of-first; ls /tmp; touch /of-second; " + network))
                    .isEqualTo("/of-first\n" + Files.readSymbolicLink(Path.of("/proc/self/ns/net")) + "\n");
            assertThat(TestContainers.output(second, "mount"))
                    .contains(" on /n ")
                    .doesNotContain(" on /m ");
            assertThat(TestContainers.output(first, "ls /of-second; " + network))
                    .isEqualTo("/of-second\n" + networkOfFirst);
        } finally {
            first.close();
        }
        try (NodeContainers third = start("shared:no_exec", "", List.of())) {
            assertThat(TestContainers.output(second, "ls /of-first /of-second; touch /after"))
                    .isEqualTo("/of-first\n/of-second\n");
            try (NodeContainers joined = start("shared:exec", "", List.of())) {
                assertThat(TestContainers.output(joined, "mount; ls /after")).contains(" on /n ", "/after\n");
            }
            second.close();
            assertThat(TestContainers.output(third, "ls /after")).isEqualTo("/after\n");
        }
        assertThatThrownBy(() -> start("shared:exec", "", List.of())).hasMessageContaining("no job on this node");
        assertThat(temp.resolve("named/shared/running")).isEmptyDirectory();
        start("shared:no_exec", "", List.of()).close();
    }

    @Test
    void anOrdinaryUserHasASecondContainerOfAFolder() throws Exception {
        assertThat(new ProcessBuilder("chown", "-R", "65534:65534", image.toString())
                        .start()
                        .waitFor())
                .isZero();
        OtherUser user = new OtherUser(temp, OtherUser.copyOfClasses(temp.resolve("classes")));
        Path written = temp.resolve("jobs-of-other/named/shared/upper/of-first");
        String waits = "touch /of-first; until [ -e /of-second ]; do sleep 0.01; done; echo end";
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<String> first = thread.submit(() -> user.run(image, waits, "name=shared", "remap"));
            for (int turns = 0; !Files.exists(written); turns++) {
                assertThat(turns).isLessThan(2000);
                Thread.sleep(10);
            }

            assertThat(user.run(image, "ls /of-first; id -u; touch /of-second", "name=shared:no_exec"))
                    .isEqualTo("/of-first\n65534\n");

            assertThat(first.get(20, TimeUnit.SECONDS)).isEqualTo("end\n");
        }
    }

    private NodeContainers start(Path scratch) throws ContainerException, InterruptedException {
        return start(scratch, TestContainers.spec(image.toString(), "shared", "", List.of()));
    }

    private NodeContainers start(String name, String mounts, List<UnsharedNamespace> unshare) throws Exception {
        Path scratch = Files.createTempDirectory(temp, "job").resolve("containers");
        return start(scratch, TestContainers.spec(image.toString(), name, mounts, unshare));
    }

    private NodeContainers start(Path scratch, ContainerSpec spec) throws ContainerException, InterruptedException {
        return new BuiltinEngine()
                .start(spec, new NodeRequest(scratch, temp.resolve("named"), List.of(), System.getenv()));
    }
}
