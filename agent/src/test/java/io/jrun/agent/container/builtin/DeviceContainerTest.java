package io.jrun.agent.container.builtin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * GPUs and InfiniBand adapters in containers. The devices, the libraries of the driver, ldconfig and
 * nvidia-container-cli are made up. The devices exist only in the mount namespace of the test.
 */
class DeviceContainerTest {
    /** Arguments: the folder of the programs, then a command. */
    private static final String WITH_DEVICES = """
            mount -t tmpfs -o mode=755 dev /dev && mkdir /dev/shm /dev/infiniband && ln -s /proc/self/fd /dev/fd || exit 98
            for device in null:3 zero:5 random:8 urandom:9 nvidiactl:3 nvidia0:3 infiniband/uverbs0:3; do
              mknod -m 666 "/dev/${device%:*}" c 1 "${device#*:}" || exit 98
            done
            export PATH="$1:$PATH"
            shift
            exec "$@"
            """;

    private static final String LIST = "ls /usr/lib/*-linux-gnu /usr/bin; ls /dev/nvidia0 /dev/infiniband";

    @TempDir
    private Path temp;

    private Path image;
    private Path tools;
    /** In LD_LIBRARY_PATH of the node. */
    private Path uncached;

    @BeforeEach
    void makeDriver() throws Exception {
        assumeTrue(BusyboxImage.isPossible(), "needs the package busybox-static");
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can make devices");
        image = BusyboxImage.folder(temp.resolve("image"));
        tools = Files.createDirectory(temp.resolve("tools"));
        uncached = Files.createDirectory(temp.resolve("uncached"));
        Path libraries = Files.createDirectory(temp.resolve("libraries"));
        StringBuilder cache = new StringBuilder("5 libs found in cache `/etc/ld.so.cache'\n");
        for (String library : List.of("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-encode.so.1", "libc.so.6")) {
            Files.writeString(libraries.resolve(library + ".550"), "driver\n");
            Files.createSymbolicLink(libraries.resolve(library), Path.of(library + ".550"));
            cache.append('\t')
                    .append(library)
                    .append(System.getProperty("os.arch").equals("aarch64") ? " (libc6,AArch64)" : " (libc6,x86-64)")
                    .append(" => ")
                    .append(libraries.resolve(library))
                    .append('\n');
        }
        cache.append("\tlibnvidia-cfg.so.1 (libc6) => ")
                .append(libraries.resolve("libcuda.so.1"))
                .append('\n');
        tool("ldconfig", "cat <<'END'\n" + cache + "END");
        tool("nvidia-smi", "echo the node sees a GPU");
    }

    private void tool(String name, String script) throws Exception {
        Path file = Files.writeString(tools.resolve(name), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void theDriversFilesAreMountedReadOnly() throws Exception {
        String seen = run(
                LIST + "; cat /usr/lib/*-linux-gnu/libcuda.so.1; nvidia-smi; echo x > /usr/bin/nvidia-smi",
                "env=NVIDIA_VISIBLE_DEVICES=all");

        assertThat(seen)
                .contains("libcuda.so.1\nlibnvidia-ml.so.1\n", "driver\nthe node sees a GPU\n")
                .contains("/dev/nvidia0", "uverbs0", "Read-only file system")
                .doesNotContain("libnvidia-encode", "libc.so", "libnvidia-cfg");
    }

    /** As on GKE: the driver lies in a folder that only a variable names. */
    @Test
    void aDriverOutsideOfTheLinkersCacheIsFound() throws Exception {
        tool("ldconfig", "echo '1 libs found in cache'");
        for (String library : List.of("libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-encode.so.1")) {
            Files.createLink(
                    uncached.resolve(library), temp.resolve("libraries").resolve(library + ".550"));
        }

        String seen = run(LIST + "; cat /usr/lib/*-linux-gnu/libcuda.so.1");

        assertThat(seen)
                .contains("libcuda.so.1\nlibnvidia-ml.so.1\n", "driver\n")
                .doesNotContain("libnvidia-encode");
    }

    @Test
    void theVariablesOfTheImageChooseTheFiles() throws Exception {
        assertThat(run(LIST, "readonly", "env=NVIDIA_DRIVER_CAPABILITIES=video"))
                .contains("libnvidia-encode.so.1")
                .doesNotContain("libcuda", "nvidia-smi");
        assertThat(run(LIST, "env=NVIDIA_VISIBLE_DEVICES=void")).doesNotContain("libcuda", "nvidia-smi");
    }

    @Test
    void nvidiasOwnToolIsUsedIfItIsThere() throws Exception {
        tool("nvidia-container-cli", "for root; do :; done; echo \"$@\" > \"$root/said\"; mkdir \"$root/of-tool\"");

        String seen = run(
                "cat /said; ls /; ls /usr/lib",
                "env=NVIDIA_VISIBLE_DEVICES=0,1",
                "env=NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics");

        assertThat(seen)
                .startsWith("--user configure --no-cgroups --ldconfig=@" + tools + "/ldconfig --device=0,1 --compute"
                        + " --utility --graphics ")
                .contains("of-tool")
                .doesNotContain("libcuda");
    }

    private String run(String script, String... options) throws Exception {
        Path jobs = Files.createDirectories(temp.resolve("jobs"));
        List<String> words = new ArrayList<>(List.of("unshare", "--mount", "sh", "-c", WITH_DEVICES, "devices"));
        words.addAll(List.of(tools.toString(), System.getProperty("java.home") + "/bin/java"));
        words.addAll(List.of("-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
        words.addAll(List.of(ContainerHostMain.class.getName(), jobs.toString(), image.toString()));
        words.addAll(List.of(options));
        words.addAll(List.of("--", "sh", "-c", script));
        ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
        builder.environment().put("LD_LIBRARY_PATH", uncached.toString());
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return said;
    }
}
