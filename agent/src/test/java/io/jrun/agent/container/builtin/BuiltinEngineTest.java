package io.jrun.agent.container.builtin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerName;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.NodeContainers;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.TestContainers;
import io.jrun.agent.container.UnsharedNamespace;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.image.ImagePreparer;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real containers of an image that holds a static busybox and nothing else. */
class BuiltinEngineTest {
    @TempDir
    private static Path shared;

    private static Path image;

    @TempDir
    private Path temp;

    private Path jobs;

    @BeforeAll
    static void makeImage() throws Exception {
        assumeTrue(BusyboxImage.isPossible(), "needs /usr/bin/busybox, of busybox-static");
        assumeTrue(System.getProperty("user.name").equals("root"), "makes containers as root, and as another user");
        image = BusyboxImage.folder(shared.resolve("image"));
    }

    @BeforeEach
    void makeFolder() throws IOException {
        jobs = Files.createDirectory(temp.resolve("jobs"));
    }

    @Test
    void aWorkerSeesTheImageAndWritesToALayerOfItsOwn() throws Exception {
        String script = "touch /made-$WORKER /tmp/of-$WORKER; ls / /etc; cat /etc/passwd; ls -ld /tmp;"
                + " until [ -e /tmp/of-0 ] && [ -e /tmp/of-1 ]; do sleep 0.01; done"; // they share /tmp
        String seen = run(image, List.of("workers=2"), script);

        assertThat(seen).contains("root:x:0:0:", "hosts\n", "drwxrwxrwt").doesNotContain("home");
        assertThat(seen.lines().filter("made-0"::equals)).hasSize(1);
        assertThat(image.resolve("made-0")).doesNotExist();
        assertThat(image.resolve("etc")).doesNotExist();
    }

    @Test
    void workersShareOneLoopDeviceWhichGoesWithThem() throws Exception {
        Path file = BusyboxImage.squashfs(image, temp.resolve("image.sqsh"));

        String seen = run(file, List.of("workers=3"), "cat /sys/block/loop*/loop/backing_file");

        assertThat(seen.lines().filter(file.toString()::equals)).hasSize(3); // one in each of three workers
        assertThat(command("losetup", "-j", file.toString())).isEmpty();
    }

    @Test
    void aReadOnlyRootKeepsTmpWritable() throws Exception {
        assertThat(run(image, List.of("readonly"), "touch /x; touch /tmp/x && ls /tmp"))
                .contains("/x: Read-only file system")
                .endsWith("x\n");
    }

    @Test
    void mountsAreAsTheirFlagsSay() throws Exception {
        Path data = Files.createDirectories(temp.resolve("da ta\\1"));
        Files.writeString(data.resolve("file"), "content\n");
        String mounts = "mounts=" + data + ":/d," + data + ":/r/o:ro+noexec," + data + "/file:/etc/f,"
                + "tmpfs:/m:size=64k+unbindable+huge=never," + data + ":/u:unbindable";

        String seen = run(
                image,
                List.of(mounts),
                "cat /etc/f; echo w > /d/w; touch /r/o/x; stat -f -c %b /m; cat /proc/self/mounts /proc/self/mountinfo");

        assertThat(seen).startsWith("content\n").contains("/r/o/x: Read-only file system", "\n16\n");
        assertThat(seen.lines().filter(line -> line.contains(" /r/o ") && !line.contains(" - ")))
                .singleElement()
                .asString()
                .contains("noexec");
        assertThat(data.resolve("w")).hasContent("w");
        for (String point : List.of(" /m ", " /u ")) {
            assertThat(seen.lines().filter(line -> line.contains(point) && line.contains(" - ")))
                    .last()
                    .asString()
                    .contains(" unbindable ");
        }
    }

    @Test
    void whatIsMountedBelowAReadOnlyMountIsReadOnlyToo() throws Exception {
        Path outer = temp.resolve("outer");
        Files.createDirectories(outer.resolve("inner"));
        command("mount", "-t", "tmpfs", "inner", outer.resolve("inner").toString());
        try {
            assertThat(run(image, List.of("mounts=" + outer + ":/o:ro"), "touch /o/inner/x; ls /o/inner"))
                    .contains("Read-only file system")
                    .doesNotContain("\nx\n");
        } finally {
            command("umount", outer.resolve("inner").toString());
        }
    }

    @Test
    void aMountThatIsTakenAwayIsNotSeen() throws Exception {
        Path needed = Files.createFile(temp.resolve("needed")); // below /tmp
        List<String> options = List.of("mounts=umount:/sys,umount:/dev/shm,umount:/tmp", "needed=" + needed);
        assertThat(run(image, options, "ls /sys; cat /proc/self/mounts"))
                .doesNotContain(" /sys", " /dev/shm", " /tmp ")
                .contains(" " + needed + " ");
    }

    @Test
    void linksOfAnImageNeverLeadOut() throws Exception {
        Path outside = Files.createDirectory(temp.resolve("outside"));
        Path hostile = BusyboxImage.folder(temp.resolve("hostile"));
        Files.createSymbolicLink(hostile.resolve("absolute"), Path.of("/var/absolute"));
        Files.createSymbolicLink(hostile.resolve("up"), Path.of("../../../../../../../../var"));
        Files.createSymbolicLink(hostile.resolve("chain"), Path.of("links/../../../c"));
        Files.createSymbolicLink(hostile.resolve("links"), Path.of("up"));
        Files.createSymbolicLink(hostile.resolve("loop"), Path.of("loop"));
        Files.createSymbolicLink(
                hostile.resolve("etc"), Path.of("/../../elsewhere")); // where passwd and hosts are written
        Files.createSymbolicLink(hostile.resolve("proc"), outside); // where the node's /proc is mounted
        Files.createSymbolicLink(hostile.resolve("tmp"), temp.resolve("other"));
        Path data = Files.createDirectory(temp.resolve("data"));
        Files.createFile(data.resolve("seen"));
        String mounts =
                "mounts=" + data + ":" + outside + "," + data + ":/absolute/a," + data + ":/up/b," + data + ":/chain";

        String seen = run(
                hostile,
                List.of(mounts),
                "ls " + outside + " /absolute/a /up/b /chain; cat /proc/self/mounts; cat /etc/passwd; ls -l /");

        assertThat(seen)
                .contains("/absolute/a:\nseen\n", "/up/b:\nseen\n", "/chain:\nseen\n", outside + ":\nseen\n")
                .contains("proc /proc proc", "root:x:0:0:");
        assertThat(outside).isEmptyDirectory();
        assertThatThrownBy(() -> start(hostile, "/a:/loop/x".replace("/a", data.toString())))
                .hasMessageContaining("more than 40 symbolic links");
    }

    @Test
    void whatCannotBeDoneIsSaidInOneSentence() throws Exception {
        Path broken = Files.writeString(temp.resolve("broken.sqsh"), "hsqs" + "\0".repeat(200));
        Path cut = Files.writeString(temp.resolve("cut.sqsh"), "hsqs" + "\0".repeat(36) + "\1\1" + "\0".repeat(100));
        Path text = Files.writeString(temp.resolve("text"), "text");
        Path gzip = Files.write(temp.resolve("app.tar.gz"), new byte[] {0x1f, (byte) 0x8b, 8, 0});

        assertThatThrownBy(() -> start(temp.resolve("none.sqsh"), ""))
                .hasMessageContaining("does not exist on this node");
        assertThatThrownBy(() -> start(text, "")).hasMessageContaining("neither a squashfs file nor a folder");
        assertThatThrownBy(() -> start(gzip, "")).hasMessageContaining("must be decompressed first");
        assertThatThrownBy(() -> start(broken, ""))
                .isInstanceOf(ContainerException.class)
                .hasMessageContaining("cannot be mounted: mount: ")
                .hasMessageContaining("may be damaged");
        assertThatThrownBy(() -> start(cut, ""))
                .hasMessage("the image " + cut + " is damaged: the file has 142 bytes of 257; copy the file again");
        assertThatThrownBy(() -> start(image, "/nowhere/at/all:/d"))
                .hasMessageContaining("does not exist on this node");
        assertThatThrownBy(() -> start(image, "umount:/d")).hasMessageContaining("nothing is mounted at this path");
        assertThatThrownBy(() -> start(image, Optional.empty(), "/nowhere/x.sqsh"))
                .hasMessageContaining("/nowhere/x.sqsh cannot be written on this node");
        assertThatThrownBy(() -> start(image, text + ":/bin")).hasMessageContaining("there is a folder in the image");
        assertThatThrownBy(() -> start(image, text + ":/bin/busybox/x")).hasMessageContaining("is a file in the image");
        try (NodeContainers containers = start(image, "")) {
            assertThatThrownBy(() -> containers.command(TestContainers.worker("python3")))
                    .hasMessage("python3: no such program inside the container on its PATH (/bin)");
            assertThatThrownBy(() -> containers.command(
                            new WorkerRequest("b", "/work", Map.of("PATH", "/bin"), Map.of(), List.of("sh"))))
                    .hasMessageStartingWith("the working folder /work: No such file or directory inside");
        }
        assertThat(jobs).isEmptyDirectory();
    }

    @Test
    void theWorkersPidIsTheProgram() throws Exception {
        try (NodeContainers containers = start(image, "")) {
            Process process = new ProcessBuilder(containers.command(TestContainers.worker(
                            "sh", "-c", "trap 'exit 7' USR1; echo $$; while :; do sleep 0.01; done")))
                    .start();

            assertThat(process.inputReader().readLine()).isEqualTo(Long.toString(process.pid()));
            command("kill", "-USR1", Long.toString(process.pid()));
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(7);
        }
    }

    @Test
    void pidsOfTheWorkersOwn() throws Exception {
        String seen = run(
                image,
                List.of("unshare=pid"),
                "echo pid $$; ls /proc | grep -c '^[0-9]'; trap 'echo got; exit 7' TERM; kill -TERM $$; sleep 9");

        assertThat(seen).containsPattern("pid \\d\n").endsWith("got\n");
        try (NodeContainers containers = start(image, "", List.of(UnsharedNamespace.PID))) {
            Process process = new ProcessBuilder(
                            containers.command(TestContainers.worker("sh", "-c", "echo ready; exec sleep 1000")))
                    .start();
            assertThat(process.inputReader().readLine()).isEqualTo("ready");
            String shells = "pgrep -P " + process.pid();
            String inside = command("sh", "-c", shells).strip();
            command("kill", "-KILL", Long.toString(process.pid()));
            assertThat(process.waitFor()).isEqualTo(137);
            awaitEnd(Path.of("/proc", inside));
        }
    }

    @Test
    void aNetworkOfTheWorkersOwnHasItsOwnSys() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/sbin/ip")) || Files.isExecutable(Path.of("/sbin/ip")), "needs ip");
        String script = "for i in /sys/class/net/*/; do"
                + " i=${i%/}; grep -q \"${i##*/}:\" /proc/net/dev && echo own || echo of the node; done; ls /sys/fs/cgroup";

        assertThat(run(image, List.of("unshare=net"), script)).contains("own\n").doesNotContain("of the node");
        assertThat(Files.readString(temp.resolve("output")).lines().filter(line -> !line.equals("own")))
                .containsExactlyInAnyOrder(Path.of("/sys/fs/cgroup").toFile().list());
        Path classes = OtherUser.copyOfClasses(shared.resolve("classes-net"));
        assertThat(new OtherUser(shared, classes).run(image, script, "unshare=net"))
                .contains("own\n")
                .doesNotContain("of the node");
    }

    /** As in Pyxis: one network for all workers, so that ranks reach each other at 127.0.0.1. */
    @Test
    void workersOfANodeShareTheirNamespaces() throws Exception {
        String script = "ls -l /proc/self/ns | while read -r line; do echo ${line##*> }; done; ip link";
        String seen = run(image, List.of("workers=3", "unshare=net,ipc,uts"), script);

        for (String namespace : List.of("net", "ipc", "uts")) {
            assertThat(seen.lines()
                            .filter(line -> line.startsWith(namespace + ":"))
                            .distinct())
                    .singleElement()
                    .isNotEqualTo(Files.readSymbolicLink(Path.of("/proc/self/ns", namespace))
                            .toString());
        }
        assertThat(seen).contains("lo: <LOOPBACK,UP");
    }

    @Test
    void aJobThatJoinsAContainerSeesItsNamespacesAndMounts() throws Exception {
        Path data = Files.createDirectory(temp.resolve("data"));
        Files.writeString(data.resolve("file"), "content");
        ContainerSpec first =
                named("joined", "/usr:/of-node," + data + ":/d:ro,tmpfs:/m", List.of(UnsharedNamespace.NET));
        try (NodeContainers made = start(first)) {
            assertThat(TestContainers.output(made, "touch /tmp/of-first; readlink /proc/self/ns/net"))
                    .isNotEmpty();
            String network = TestContainers.output(made, "readlink /proc/self/ns/net");
            try (NodeContainers joined = start(named("joined:exec", "", List.of()))) {
                assertThat(TestContainers.output(
                                joined, "cat /d/file; ls /tmp; touch /d/x; readlink /proc/self/ns/net"))
                        .startsWith("content")
                        .contains("of-first\n", "Read-only file system")
                        .endsWith(network);
                TestContainers.output(joined, "touch /tmp/of-second");
            }
            assertThat(TestContainers.output(made, "ls /tmp")).isEqualTo("of-first\nof-second\n");
            assertThatThrownBy(() -> start(named("joined", "", List.of(UnsharedNamespace.IPC))))
                    .hasMessageStartingWith(
                            "--container-unshare=ipc: the container joined is not in a separate IPC namespace");
        }
    }

    private ContainerSpec named(String name, String mounts, List<UnsharedNamespace> unshare) {
        return TestContainers.spec(image.toString(), name, mounts, unshare);
    }

    @Test
    void aContainerWithoutANameIsJoinedByTheNameOfItsJob() throws Exception {
        ContainerSpec first = TestContainers.spec(image.toString(), "", "tmpfs:/m", List.of(UnsharedNamespace.NET));
        try (NodeContainers made = start(first, "run-7", "12.0")) {
            String network = TestContainers.output(made, "touch /tmp/of-first; readlink /proc/self/ns/net");
            for (String name : List.of("12.0", "run-7:exec")) {
                try (NodeContainers joined = start(named(name, "tmpfs:/more", List.of()), "run-8")) {
                    assertThat(TestContainers.output(
                                    joined, "ls /tmp; ls -d /m /more; touch /of-second; readlink /proc/self/ns/net"))
                            .isEqualTo("of-first\n/m\n/more\n" + network);
                }
            }
            assertThat(TestContainers.output(made, "ls / | grep -c of-second")).isEqualTo("0\n");
            assertThat(jobs.resolve("running").toFile().list()).containsExactlyInAnyOrder("run-7", "12.0");
        }
        assertThat(jobs.resolve("running")).isEmptyDirectory();
        assertThatThrownBy(() -> start(named("run-7:exec", "", List.of()))).hasMessageContaining("no job on this node");
        Files.delete(jobs.resolve("running"));
    }

    @Test
    void theHomeFolderOfRootInsideIsAtRootsPlace() throws Exception {
        Path home = Files.createDirectory(temp.resolve("home"));
        Files.writeString(home.resolve("mine"), "");
        for (boolean remap : new boolean[] {true, false}) {
            ContainerSpec spec = TestContainers.spec(image.toString(), "", "", List.of(), "", true, remap);
            Map<String, String> environment = new HashMap<>(System.getenv());
            environment.put("HOME", home.toString());
            Path folder = Files.createTempDirectory(temp, "scratch").resolve("containers");
            try (NodeContainers made = new BuiltinEngine()
                    .start(spec, new NodeRequest(folder, jobs.resolve("named"), List.of(), environment))) {
                assertThat(TestContainers.output(made, "ls /root")).contains(remap ? "mine\n" : "No such file");
                assertThat(TestContainers.output(made, "ls " + home)).contains(remap ? "No such file" : "mine\n");
            }
        }
    }

    private static void awaitEnd(Path process) throws InterruptedException {
        for (int turns = 0; Files.exists(process); turns++) {
            assertThat(turns).as("%s ends", process).isLessThan(2000);
            Thread.sleep(10);
        }
    }

    @Test
    void aRootWithANameStaysAndIsShared() throws Exception {
        Path file = BusyboxImage.squashfs(image, temp.resolve("named.sqsh"));

        run(file, List.of("name=kept:create", "workers=2"), "touch /made-$WORKER");
        assertThat(run(Path.of("-"), List.of("name=kept"), "ls /")).contains("made-0\n", "made-1\n", "bin\n");
        assertThat(run(Path.of("-"), List.of("name=kept", "readonly"), "touch /x; echo end"))
                .contains("Read-only file system");
        assertThatThrownBy(() -> startNamed(image, "kept:create")).hasMessageContaining("already exists on this node");
        assertThatThrownBy(() -> startNamed(image, "kept:exec")).hasMessageContaining("no job on this node runs");
        try (NodeContainers first = startNamed(image, "kept")) {
            try (NodeContainers second = startNamed(image, "kept:exec")) {
                assertThat(new ProcessBuilder(second.command(TestContainers.worker("touch", "/of-second")))
                                .start()
                                .waitFor())
                        .isZero();
            }
            assertThat(first.find("/of-second")).isPresent();
        }
        assertThat(command("losetup", "-j", file.toString())).isEmpty();
    }

    @Test
    void aHostileRootWithANameNeverLeadsOut() throws Exception {
        Path victim = Files.writeString(temp.resolve("victim"), "untouched");

        run(
                image,
                List.of("name=bad"),
                "rm /etc/hosts /etc/passwd; ln -s " + victim + " /etc/hosts; ln -s /../.." + victim + " /etc/passwd");
        assertThat(run(image, List.of("name=bad"), "cat /etc/passwd")).startsWith("root:x:0:0:");

        assertThat(victim).hasContent("untouched");
    }

    @Test
    void whatAWorkerHasWrittenIsSaved() throws Exception {
        Path saved = temp.resolve("saved.sqsh");

        run(image, List.of("workers=2", "save=" + saved), "echo $WORKER > /mine; rm /bin/hostname; mkdir /new");

        assertThat(run(saved, List.of(), "cat /mine; ls / /bin"))
                .startsWith("0\n")
                .contains("new\n")
                .doesNotContain("hostname\n/");
        assertThat(run(saved, List.of(), "ls /bin")).doesNotContain("hostname");
    }

    /** A file that is renamed to /dev/null would replace the device for all programs of the node. */
    @Test
    void imagesAndFilesOfSavedRootsAreRegularFilesOnly() throws Exception {
        Path device = temp.resolve("device");
        command("mknod", device.toString(), "c", "1", "3");
        Path pipe = temp.resolve("pipe");
        command("mkfifo", pipe.toString());
        Path dangling = Files.createSymbolicLink(temp.resolve("dangling"), temp.resolve("nothing"));
        for (Path file : List.of(device, pipe)) {
            assertThatThrownBy(() -> start(file, Optional.empty(), ""))
                    .hasMessageStartingWith("the image " + file + " cannot be read: it is a ");
            assertThatThrownBy(() -> ImagePreparer.isReady(file))
                    .hasMessageStartingWith("the image " + file + " cannot be read: it is a ");
        }
        for (Path target : List.of(device, pipe, dangling)) {
            assertThatThrownBy(() -> start(image, Optional.empty(), target.toString()))
                    .hasMessageStartingWith("--container-save: " + target + " cannot be written: it is a ");
        }
        Path link = Files.createSymbolicLink(temp.resolve("link"), Files.createFile(temp.resolve("earlier.sqsh")));

        run(image, List.of("save=" + link), "touch /mine");

        assertThat(link).isSymbolicLink();
        assertThat(run(link.toRealPath(), List.of(), "ls /mine")).isEqualTo("/mine\n");
    }

    @Test
    void aFullDiskIsSaidWhenTheRootIsSaved() throws Exception {
        Path disk = Files.createDirectory(temp.resolve("disk"));
        command("mount", "-t", "tmpfs", "-o", "size=64k", "small", disk.toString());
        try {
            Path saved = disk.resolve("saved.sqsh");
            try (NodeContainers containers = start(image, Optional.empty(), saved.toString())) {
                containers.command(TestContainers.worker("sh"));
                assertThatThrownBy(() -> containers.save("a", saved))
                        .hasMessageStartingWith("--container-save: " + saved + " cannot be written: the disk of " + disk
                                + " (small, 0 MB) is full; make room");
            }
            assertThat(disk).isEmptyDirectory();
        } finally {
            command("umount", disk.toString());
        }
    }

    /** The overlay and the read-only parts of the root take no setuid bits and no devices; only root could use them. */
    @Test
    void mountsOfAContainerTakeNoPrivileges() throws Exception {
        assertThat(mountOptions(run(image, List.of(), "cat /proc/self/mountinfo"), "/"))
                .contains("rw", "nosuid", "nodev");
        assertThat(mountOptions(run(image, List.of("readonly"), "cat /proc/self/mountinfo"), "/"))
                .contains("nosuid", "nodev"); // the overlay itself is read-only
        assertThat(mountOptions(run(image, List.of("name=kept"), "cat /proc/self/mountinfo"), "/"))
                .contains("rw", "nosuid", "nodev");
        assertThat(mountOptions(run(Path.of("-"), List.of("name=kept", "readonly"), "cat /proc/self/mountinfo"), "/"))
                .contains("ro", "nosuid", "nodev");
        assertThat(mountOptions(run(image, List.of("mounts=tmpfs:/m"), "cat /proc/self/mountinfo"), "/m"))
                .contains("nosuid", "nodev");
        Path needed = Files.createDirectory(temp.resolve("needed"));
        assertThat(run(image, List.of("needed=" + needed), "touch " + needed + "/x"))
                .contains("Read-only file system");
    }

    /** The options of a mount point, of the last line about the point in /proc/self/mountinfo. */
    private static List<String> mountOptions(String mountinfo, String point) {
        return mountinfo
                .lines()
                .map(line -> line.split(" ", -1))
                .filter(fields -> fields.length > 5 && fields[4].equals(point))
                .reduce((_, last) -> last)
                .map(fields -> List.of(fields[5].split(",", -1)))
                .orElseThrow();
    }

    @Test
    void podmanRunsProgramsInTheSameRoot() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/podman")), "needs the packages podman and crun");
        Path data = Files.createDirectory(temp.resolve("data"));
        Files.writeString(data.resolve("file"), "content\n");
        Path file = BusyboxImage.squashfs(image, temp.resolve("podman.sqsh"));
        List<String> options = List.of("engine=podman", "mounts=" + data + ":/d:ro", "workers=2");
        String script =
                "echo pid $$; cat /d/file; touch /d/x; touch /x && ls /x; echo of-$WORKER > /dev/shm/jrun-podman-"
                        + "$WORKER; rm /dev/shm/jrun-podman-$WORKER; ip link | grep -c UP";

        String seen = run(file, options, script);

        assertThat(seen).contains("pid 1\n", "content\n", "/x\n", "/d/x: Read-only file system");
        Path classes = OtherUser.copyOfClasses(shared.resolve("classes-podman"));
        assertThat(new OtherUser(shared, classes).run(image, "id -u; touch /x && ls /x", "engine=podman"))
                .isEqualTo("0\n/x\n");
    }

    /** As user 65534 that may open /dev/fuse: a folder, a .sqsh file, and root inside. */
    @Test
    void anOrdinaryUserHasContainersToo() throws Exception {
        Path file = BusyboxImage.squashfs(image, shared.resolve("image.sqsh"));
        Path classes = OtherUser.copyOfClasses(shared.resolve("classes"));
        OtherUser user = new OtherUser(shared, classes);

        assertThat(user.run(image, "id -u; cat /proc/self/uid_map; touch /x && ls /x; chroot /; umount /proc")
                        .replaceAll(" +", " "))
                .startsWith("65534\n 65534 65534 1\n/x\n")
                .contains("chroot: ", "umount: ");
        assertThat(user.run(file, "id -u; touch /bin/x && ls /bin/x")).isEqualTo("65534\n/bin/x\n");
        assertThat(user.run(file, "id -u; umount /proc; umount -l /; ls /proc/$PPID/root/", "remap"))
                .startsWith("0\n")
                .contains("can't unmount /proc", "can't unmount /:", "Permission denied");
        assertThat(command("pgrep", "-f", "squashfuse.*" + file)).isEmpty();
        Files.createDirectories(image.resolve("etc/apt/apt.conf.d")); // apt would become a user that does not exist
        assertThat(user.run(image, "cat /etc/apt/apt.conf.d/*", "remap")).isEqualTo("APT::Sandbox::User \"root\";\n");
        assertThat(user.run(image, "ls /etc/apt/apt.conf.d")).isEmpty();
        Path foreign = Files.createDirectories(shared.resolve("foreign/etc")).resolveSibling("");
        assertThat(user.run(foreign, "id", "name=kept"))
                .contains(foreign + "/etc of the image belongs to user root, so user nobody cannot keep a container");
    }

    private String run(Path root, List<String> options, String script) throws Exception {
        Path output = temp.resolve("output");
        List<String> args = new ArrayList<>(List.of(jobs.toString(), root.toString()));
        args.addAll(options);
        args.addAll(List.of("--", "sh", "-c", script));
        ContainerHostMain.run(args, Redirect.appendTo(output.toFile()));
        assertThat(jobs.toFile().list((_, name) -> !name.equals("named"))).isEmpty();
        return Files.readString(output);
    }

    private NodeContainers start(Path root, String mounts) throws Exception {
        return start(root, mounts, List.of());
    }

    private NodeContainers start(ContainerSpec spec, String... jobNames) throws Exception {
        Path folder = Files.createTempDirectory(temp, "scratch").resolve("containers");
        return new BuiltinEngine()
                .start(spec, new NodeRequest(folder, jobs.resolve("named"), List.of(jobNames), System.getenv()));
    }

    private NodeContainers start(Path root, String mounts, List<UnsharedNamespace> unshare) throws Exception {
        return start(TestContainers.spec(root.toString(), "", mounts, unshare));
    }

    private NodeContainers startNamed(Path root, String name) throws Exception {
        return start(root, Optional.of(ContainerName.parse(name)), "");
    }

    private NodeContainers start(Path root, Optional<ContainerName> name, String save) throws Exception {
        return start(TestContainers.spec(
                root.toString(), name.map(ContainerName::text).orElse(""), "", List.of(), save, false, false));
    }

    private static String command(String... words) throws Exception {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        return said;
    }
}
