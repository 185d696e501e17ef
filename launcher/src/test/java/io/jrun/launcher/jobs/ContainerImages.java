package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Images of tests: a busybox, the C library of this machine, and in one of them the JDK of this JVM. */
final class ContainerImages {
    private static final Path BUSYBOX = Path.of("/usr/bin/busybox");
    private static final Path MKSQUASHFS = Path.of("/usr/bin/mksquashfs");
    private static final Path JDK = Path.of(System.getProperty("java.home"));
    private static final Pattern LIBRARY = Pattern.compile("(?m)(?:=> |^\\s*)(/\\S+)");

    private ContainerImages() {}

    /** Why this machine cannot make and mount images; empty if it can. */
    static String unavailable() {
        if (!Files.isExecutable(BUSYBOX)) {
            return "needs the package busybox-static";
        }
        if (!Files.isExecutable(MKSQUASHFS)) {
            return "needs the package squashfs-tools";
        }
        return System.getProperty("user.name").equals("root") ? "" : "only root can mount a .sqsh file";
    }

    /** Makes {@code image} with the programs of busybox and the libraries of a JVM. Returns {@code image}. */
    static Path withoutJdk(Path image) throws Exception {
        Path root = root(image);
        Files.writeString(root.resolve("etc/environment"), "OF_IMAGE=image\nBOTH=image\nNAMED=image\n");
        Files.writeString(
                root.resolve("etc/rc"),
                "echo of the entrypoint\nexport ENTERED=yes SEEN=\"$OF_NODE$GIVEN$RANK\"\nexec \"$@\"\n");
        return pack(root, image);
    }

    /** As {@link #withoutJdk}, and with a JDK and the libraries that libtorch needs. */
    static Path withJdk(Path image) throws Exception {
        Path root = root(image);
        Path jdk = Files.createDirectories(root.resolve("opt/jdk"));
        run("cp", "-a", JDK + "/bin", JDK + "/conf", JDK + "/lib", JDK + "/release", jdk.toString());
        for (String library : List.of("libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "librt.so.1", "libz.so.1")) {
            for (String folder : List.of("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu")) {
                copy(root, Path.of(folder, library));
            }
        }
        Files.writeString(root.resolve("etc/environment"), "JAVA_HOME=/opt/jdk\n");
        return pack(root, image);
    }

    private static Path root(Path image) throws Exception {
        Path root = Files.createDirectories(image.resolveSibling(image.getFileName() + ".root"));
        Files.createDirectories(root.resolve("bin"));
        Files.copy(BUSYBOX, root.resolve("bin/busybox"));
        for (String applet : List.of("sh", "ls", "sleep", "cat", "env", "kill")) {
            Files.createSymbolicLink(root.resolve("bin").resolve(applet), Path.of("busybox"));
        }
        copyLibraries(root, JDK.resolve("bin/java"));
        copyLibraries(root, JDK.resolve("lib/server/libjvm.so"));
        Files.createDirectories(root.resolve("etc"));
        return root;
    }

    private static Path pack(Path root, Path image) throws Exception {
        run(MKSQUASHFS.toString(), "" + root, "" + image, "-quiet", "-no-progress", "-noI", "-noD", "-noF", "-noX");
        return image;
    }

    private static void copyLibraries(Path root, Path binary) throws Exception {
        Matcher libraries = LIBRARY.matcher(run("ldd", binary.toString()));
        while (libraries.find()) {
            Path library = Path.of(libraries.group(1));
            if (!library.startsWith(JDK)) {
                copy(root, library);
            }
        }
    }

    private static void copy(Path root, Path library) throws IOException {
        Path copy = root.resolve(library.toString().substring(1));
        if (Files.exists(library) && !Files.exists(copy)) {
            Files.createDirectories(copy.getParent());
            Files.copy(library.toRealPath(), copy);
        }
    }

    private static String run(String... words) throws Exception {
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
