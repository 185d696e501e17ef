package io.jrun.launcher.image;

import io.jrun.agent.container.ContainerException;
import io.jrun.launcher.cli.ImageRequest;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * The root folder of a minimal Debian with a JDK. Closing this object removes the folder. jlink makes the JDK from the
 * JDK that runs jrun, with all modules, because programs may use any module.
 */
record DebianRoot(ImageCommandFolder temporary, Path folder) implements AutoCloseable {
    private static final String JAVA_HOME = "/usr/lib/jvm/jdk";

    /** Packages that a JVM and libtorch need. */
    private static final List<String> LIBRARIES = List.of("libgomp1", "libstdc++6", "zlib1g");

    static DebianRoot make(
            ImageRequest.CreateOfDebian request, Map<String, String> environment, Consumer<String> report)
            throws ContainerException, IOException, InterruptedException {
        Path jlink = Path.of(System.getProperty("java.home"), "bin", "jlink");
        if (!Files.isExecutable(jlink)) {
            throw new ContainerException(
                    System.getProperty("java.home") + " has no jlink; run jrun with a complete JDK (JRUN_JAVA_HOME)");
        }
        ImageCommandFolder temporary = ImageCommandFolder.make();
        DebianRoot root = new DebianRoot(temporary, temporary.root());
        try {
            String step = "making the root of Debian " + request.suite() + " with mmdebstrap";
            report.accept(step);
            List<String> packages = new ArrayList<>(LIBRARIES);
            packages.addAll(request.packages());
            try (ProgressLines _ = ProgressLines.start(ProgressLines.EVERY, () -> step, report)) {
                ToolRun.run(
                        environment,
                        "mmdebstrap",
                        List.of(
                                "mmdebstrap",
                                "--quiet",
                                "--variant=minbase",
                                "--include=" + String.join(",", packages),
                                request.suite(),
                                root.folder().toString()));
            }
            report.accept("making the JDK " + Runtime.version() + " with jlink");
            ToolRun.run(
                    environment,
                    "a JDK",
                    List.of(
                            jlink.toString(),
                            "--add-modules",
                            modules(),
                            "--no-header-files",
                            "--no-man-pages",
                            "--output",
                            root.folder() + JAVA_HOME));
            Files.writeString(
                    root.folder().resolve("etc/environment"),
                    "PATH=" + JAVA_HOME
                            + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nJAVA_HOME="
                            + JAVA_HOME + "\n");
            return root;
        } catch (ContainerException | IOException | InterruptedException | RuntimeException e) {
            root.close();
            throw e;
        }
    }

    /** A JDK without packaged modules cannot link the linker itself. */
    private static String modules() {
        return ModuleFinder.ofSystem().findAll().stream()
                .map(module -> module.descriptor().name())
                .filter(name -> !name.equals("jdk.jlink") && !name.equals("jdk.jpackage"))
                .sorted()
                .collect(Collectors.joining(","));
    }

    @Override
    public void close() throws IOException {
        temporary.close();
    }
}
