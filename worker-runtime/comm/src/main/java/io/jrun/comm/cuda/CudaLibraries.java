package io.jrun.comm.cuda;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The places of CUDA's own libraries on this machine: the runtime, cuBLAS, cuDNN, NCCL and others. The folders are
 * searched in this order:
 *
 * <ol>
 *   <li>{@code JRUN_CUDA_PATH}, a list of absolute paths like PATH. An entry is a folder of libraries, an installation of CUDA, or a
 *       site-packages folder of Python with the {@code nvidia} packages of pip.
 *   <li>The libraries that {@code jrun cuda install --with-libraries} has fetched.
 *   <li>{@code LD_LIBRARY_PATH}.
 *   <li>{@code CUDA_HOME} and {@code CUDA_PATH}, and the newest {@code /usr/local/cuda*}.
 *   <li>The library folders of the system.
 * </ol>
 *
 * <p>Immutable.
 */
public final class CudaLibraries {
    /** The variable that names folders of CUDA's libraries. */
    public static final String PATH_VARIABLE = "JRUN_CUDA_PATH";

    /** The system property with the folder of the libraries that jrun has fetched. */
    public static final String FETCHED_PROPERTY = "jrun.cuda.libraries";

    private static final List<String> SYSTEM = List.of("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib");
    private static final List<String> PARTS = List.of("", "lib64", "lib", "targets/x86_64-linux/lib");

    private final List<Path> folders;

    private CudaLibraries(Set<Path> folders) {
        this.folders = List.copyOf(folders);
    }

    /** The libraries for this process. */
    public static CudaLibraries here() {
        return of(
                System.getenv(),
                Path.of("/"),
                Optional.ofNullable(System.getProperty(FETCHED_PROPERTY)).map(Path::of));
    }

    /**
     * The libraries for a process with this environment.
     *
     * @param root the root folder of the machine
     * @param fetched the folder of the libraries that jrun has fetched
     */
    public static CudaLibraries of(Map<String, String> environment, Path root, Optional<Path> fetched) {
        Set<Path> folders = new LinkedHashSet<>();
        entries(environment, PATH_VARIABLE).forEach(entry -> folders.addAll(inside(entry)));
        fetched.ifPresent(folders::add);
        entries(environment, "LD_LIBRARY_PATH").forEach(folders::add);
        for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
            entries(environment, variable).forEach(entry -> folders.addAll(partsOf(entry)));
        }
        List<Path> toolkits = new ArrayList<>(list(root.resolve("usr/local"), "cuda*"));
        Collections.sort(toolkits, Collections.reverseOrder(CudaLibraries::byVersion));
        toolkits.forEach(toolkit -> folders.addAll(partsOf(toolkit)));
        SYSTEM.forEach(folder -> folders.add(root.resolve(folder.substring(1))));
        return new CudaLibraries(folders);
    }

    /** The file of a library, by its name with the version: {@code libcudart.so.13}. */
    public Optional<Path> find(String library) {
        return folders.stream()
                .map(folder -> folder.resolve(library))
                .filter(Files::isRegularFile)
                .findFirst();
    }

    /** The libraries of the list that are in no folder. */
    public List<String> missing(List<String> libraries) {
        return libraries.stream().filter(library -> find(library).isEmpty()).toList();
    }

    /** The entries of {@code JRUN_CUDA_PATH} that are not searched, because workers have other working folders. */
    public static List<String> relativeEntries(Map<String, String> environment) {
        return Arrays.stream(environment.getOrDefault(PATH_VARIABLE, "").split(File.pathSeparator, -1))
                .filter(entry -> !entry.isEmpty() && !entry.startsWith("/"))
                .toList();
    }

    private static Stream<Path> entries(Map<String, String> environment, String variable) {
        return Arrays.stream(environment.getOrDefault(variable, "").split(File.pathSeparator, -1))
                .filter(entry -> entry.startsWith("/"))
                .map(Path::of);
    }

    private static List<Path> partsOf(Path toolkit) {
        return PARTS.stream().map(toolkit::resolve).toList();
    }

    /** The folders for an entry of JRUN_CUDA_PATH. pip has CUDA's libraries in nvidia/cu13/lib, nvidia/cudnn/lib, ... */
    private static List<Path> inside(Path entry) {
        List<Path> folders = new ArrayList<>(partsOf(entry));
        for (Path packages : List.of(entry, entry.resolve("nvidia"))) {
            list(packages, "*").forEach(each -> folders.add(each.resolve("lib")));
        }
        return folders;
    }

    private static List<Path> list(Path folder, String pattern) {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, pattern)) {
            entries.forEach(found::add);
        } catch (IOException | DirectoryIteratorException e) {
            return List.of();
        }
        Collections.sort(found);
        return found;
    }

    /** cuda-13.1 is above cuda-13.0 and cuda-9.2. The link cuda, which the administrator has chosen, is above all. */
    private static int byVersion(Path one, Path other) {
        return Arrays.compare(version(one), version(other));
    }

    private static int[] version(Path toolkit) {
        String text = toolkit.getFileName().toString().substring("cuda".length());
        if (text.isEmpty()) {
            return new int[] {Integer.MAX_VALUE};
        }
        return text.matches("-\\d{1,4}(\\.\\d{1,4})*")
                ? Arrays.stream(text.substring(1).split("\\.", -1))
                        .mapToInt(Integer::parseInt)
                        .toArray()
                : new int[] {0};
    }
}
