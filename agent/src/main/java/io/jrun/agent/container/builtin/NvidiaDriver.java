package io.jrun.agent.container.builtin;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.HostFolder;
import io.jrun.agent.container.HostFolder.Access;
import io.jrun.agent.node.SearchPath;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The driver of this node's NVIDIA GPUs, for the programs in a container. The devices are in /dev already. The
 * libraries and programs of the driver have the version of the kernel's module, so they are always the node's, never
 * the image's. Source: NVIDIA container toolkit, specialized configurations, and nvidia-container-cli. Stateless.
 *
 * @param devices the value of NVIDIA_VISIBLE_DEVICES
 * @param capabilities the words of NVIDIA_DRIVER_CAPABILITIES
 */
record NvidiaDriver(String devices, List<String> capabilities) {
    private static final String CONTROL_DEVICE = "/dev/nvidiactl";
    private static final List<String> BY_DEFAULT = List.of("compute", "utility");
    private static final List<String> ALL = List.of("compute", "compat32", "display", "graphics", "utility", "video");

    private static final Map<String, Pattern> LIBRARIES = Map.of(
            "compute",
            Pattern.compile("lib(?:cuda|cudadebugger|nvidia-(?:opencl|ptxjitcompiler|gpucomp|nvvm\\d*|fatbinaryloader"
                    + "|allocator|compiler|pkcs11[-a-z0-9]*))\\.so\\..*"),
            "utility",
            Pattern.compile("libnvidia-(?:ml|cfg|nscq)\\.so\\..*"),
            "video",
            Pattern.compile("lib(?:vdpau_nvidia|nvcuvid|nvidia-(?:encode|opticalflow))\\.so\\..*"));

    private static final Map<String, List<String>> PROGRAMS = Map.of(
            "compute", List.of("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
            "utility", List.of("nvidia-smi", "nvidia-debugdump"));

    /** A line of {@code ldconfig -p}. */
    private static final Pattern CACHED = Pattern.compile("\\s*(\\S+) \\((.*)\\) => (/.*)");

    private static final boolean IS_ARM = System.getProperty("os.arch").equals("aarch64");

    private static final String LIBCUDA = "libcuda.so.1";

    /** Folders of drivers that the cache of the dynamic linker does not name, as on GKE. */
    private static final List<String> UNCACHED = List.of("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib");

    /** Folders in which glibc looks without a cache, in the order of Debian's and of Red Hat's. */
    private static final List<String> FOLDERS =
            List.of(IS_ARM ? "/usr/lib/aarch64-linux-gnu" : "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib");

    /**
     * The driver for one worker. Empty if this node has none, or if the worker wants no GPU ({@code
     * NVIDIA_VISIBLE_DEVICES=void}).
     *
     * @param worker the variables of the worker
     */
    static Optional<NvidiaDriver> of(Map<String, String> worker) {
        String devices = worker.getOrDefault("NVIDIA_VISIBLE_DEVICES", "all");
        if (devices.isEmpty() || devices.equals("void") || !Files.exists(Path.of(CONTROL_DEVICE))) {
            return Optional.empty();
        }
        String requested = worker.getOrDefault("NVIDIA_DRIVER_CAPABILITIES", "");
        if (requested.isEmpty()) {
            return Optional.of(new NvidiaDriver(devices, BY_DEFAULT));
        }
        List<String> words = List.of(requested.split(",", -1));
        return Optional.of(new NvidiaDriver(devices, words.contains("all") ? ALL : words));
    }

    /** Returns nvidia-container-cli of this node. */
    static Optional<Path> tool(Map<String, String> node) {
        return SearchPath.ofTools(node).find("nvidia-container-cli");
    }

    /** Returns the options of {@code nvidia-container-cli configure}, with a blank between them. */
    String toolOptions() {
        StringBuilder words = new StringBuilder();
        if (devices.matches("[A-Za-z0-9,:/-]+") && !devices.equals("none")) {
            words.append(" --device=").append(devices);
        }
        capabilities.stream()
                .filter(ALL::contains)
                .forEach(capability -> words.append(" --").append(capability));
        return words.toString().strip();
    }

    /** Returns the libraries and programs of the driver, each with its path inside. Starts a process. */
    List<HostFolder> files(ContainerRoot root, Map<String, String> node) throws ContainerException {
        List<HostFolder> files = new ArrayList<>();
        String folder = libraryFolder(root);
        libraries(node).forEach((name, file) -> {
            if (isWanted(name)) {
                files.add(new HostFolder(file, Path.of(folder, name), Access.READ));
            }
        });
        for (String capability : capabilities) {
            for (String program : PROGRAMS.getOrDefault(capability, List.of())) {
                SearchPath.ofTools(node)
                        .find(program)
                        .ifPresent(
                                found -> files.add(new HostFolder(found, Path.of("/usr/bin", program), Access.READ)));
            }
        }
        return files;
    }

    /**
     * The libraries of the dynamic linker's cache by their names. If the cache has no libcuda, also those of the folders
     * of {@code LD_LIBRARY_PATH} and of the folders in which drivers lie without a cache.
     */
    private static Map<String, Path> libraries(Map<String, String> node) throws ContainerException {
        Map<String, Path> found = new LinkedHashMap<>();
        for (String line : cachedLibraries(node).split("\n", -1)) {
            Matcher cached = CACHED.matcher(line);
            if (cached.matches() && isOfThisMachine(cached.group(2))) {
                found.putIfAbsent(cached.group(1), Path.of(cached.group(3)));
            }
        }
        if (!found.containsKey(LIBCUDA)) {
            Stream.concat(
                            Stream.of(node.getOrDefault("LD_LIBRARY_PATH", "").split(":", -1))
                                    .filter(folder -> folder.startsWith("/")),
                            UNCACHED.stream())
                    .map(Path::of)
                    .flatMap(NvidiaDriver::filesOf)
                    .forEach(file -> found.putIfAbsent(file.getFileName().toString(), file));
        }
        return found;
    }

    /** The files of a folder in the order of their names; none if the folder cannot be read. */
    private static Stream<Path> filesOf(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(Files::isRegularFile).sorted().toList().stream();
        } catch (IOException | UncheckedIOException e) {
            return Stream.empty();
        }
    }

    private static String libraryFolder(ContainerRoot root) throws ContainerException {
        for (String folder : FOLDERS) {
            if (Files.isDirectory(root.find(folder))) {
                return folder;
            }
        }
        return FOLDERS.getFirst();
    }

    private static boolean isOfThisMachine(String kind) {
        return kind.contains(IS_ARM ? "AArch64" : "x86-64");
    }

    private boolean isWanted(String library) {
        return capabilities.stream()
                .anyMatch(capability -> LIBRARIES.containsKey(capability)
                        && LIBRARIES.get(capability).matcher(library).matches());
    }

    private static String cachedLibraries(Map<String, String> node) throws ContainerException {
        String tool = HostTools.locate("ldconfig", "libc-bin", node);
        try {
            Process process = new ProcessBuilder(tool, "-p")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new ContainerException("the libraries of the GPU driver cannot be found: " + e.getMessage(), e);
        }
    }
}
