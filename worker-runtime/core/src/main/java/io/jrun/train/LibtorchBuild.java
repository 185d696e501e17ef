package io.jrun.train;

import io.jrun.comm.cuda.CudaLibraries;
import io.jrun.comm.cuda.VisibleGpus;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The build of libtorch for a process: the CUDA build or the plain build. A process takes the CUDA build if it sees a
 * GPU, the CUDA build is installed, the driver's library opens, and CUDA's own libraries exist. {@code JRUN_LIBTORCH=cpu}
 * chooses the plain build, {@code JRUN_LIBTORCH=cuda} the CUDA build also without a GPU and a driver.
 *
 * @param cuda the CUDA build; empty for the plain build
 * @param whyPlain why this process has the plain build, and what to do for the CUDA build; empty for the CUDA build
 */
record LibtorchBuild(Optional<CudaArchive> cuda, String whyPlain) {
    /** Chooses the build: auto (default), cpu or cuda. */
    static final String VARIABLE = "JRUN_LIBTORCH";

    private static final String VISIBLE = "CUDA_VISIBLE_DEVICES";
    private static final String DRIVER = "libcuda.so.1";

    /**
     * CUDA's own libraries that the CUDA build needs, in the order of their dependencies. The process opens them by
     * full path in this order, before the libraries of libtorch.
     */
    static final List<String> NEEDED = List.of(
            "libcudart.so.13",
            "libcublasLt.so.13",
            "libcublas.so.13",
            "libcudnn.so.9",
            "libcusparse.so.12",
            "libcusolver.so.12",
            "libcufft.so.12",
            "libcurand.so.10",
            "libcufile.so.0",
            "libcupti.so.13",
            "libnccl.so.2");

    /** Libraries that other libraries open by name while they work. The process opens them first where they exist. */
    static final List<String> USED = List.of("libnvJitLink.so.13", "libnvrtc.so.13");

    /** Chooses the build for this process. The method opens no library of CUDA in a process without a GPU. */
    static LibtorchBuild choose() {
        return choose(System.getenv(), Path.of("/dev"));
    }

    static LibtorchBuild choose(Map<String, String> environment, Path devices) {
        String choice = environment.getOrDefault(VARIABLE, "auto");
        return switch (choice) {
            case "", "auto" -> {
                Optional<String> blind = blindness(environment, devices);
                yield blind.isPresent() ? plain(blind.get()) : withGpu(environment);
            }
            case "cpu" -> plain(VARIABLE + " is cpu. Leave it out");
            case "cuda" -> {
                LibtorchBuild build = installed(environment);
                if (build.cuda().isEmpty()) {
                    throw new IllegalArgumentException(VARIABLE + " is cuda, but " + build.whyPlain() + ".");
                }
                yield build;
            }
            default ->
                throw new IllegalArgumentException(VARIABLE + " is '" + choice + "', not one of auto, cpu, cuda.");
        };
    }

    /** Whether this process sees a GPU. */
    static boolean seesGpu() {
        return blindness(System.getenv(), Path.of("/dev")).isEmpty();
    }

    private static LibtorchBuild plain(String why) {
        return new LibtorchBuild(Optional.empty(), why);
    }

    /** Why this process sees no GPU. jrun sets the variable for each worker of a node with GPUs. */
    private static Optional<String> blindness(Map<String, String> environment, Path devices) {
        if (VisibleGpus.of(environment, devices).count() > 0) {
            return Optional.empty();
        }
        String visible = environment.get(VISIBLE);
        return Optional.of(
                visible == null
                        ? "this machine has no NVIDIA GPU (there is no /dev/nvidia0). Check nvidia-smi"
                        : "this process sees no GPU (" + VISIBLE + " is '" + visible + "')."
                                + " Check --nproc-per-node and the GPUs of the job");
    }

    private static LibtorchBuild withGpu(Map<String, String> environment) {
        LibtorchBuild build = installed(environment);
        if (build.cuda().isPresent() && !opensDriver()) {
            return plain("the library of the driver, " + DRIVER + ", cannot be opened."
                    + " Install NVIDIA's driver, or start the container with its GPUs");
        }
        return build;
    }

    private static LibtorchBuild installed(Map<String, String> environment) {
        Optional<CudaArchive> archive = CudaArchive.find(environment);
        if (archive.isEmpty()) {
            return plain("the CUDA build of libtorch is not installed. Run 'jrun cuda install' (458 MB)");
        }
        archive.get().publishLibraries();
        List<String> missing = CudaLibraries.here().missing(NEEDED);
        List<String> relative = CudaLibraries.relativeEntries(environment);
        return missing.isEmpty()
                ? new LibtorchBuild(archive, "")
                : plain("libraries of CUDA 13 are missing (" + String.join(", ", missing)
                        + (relative.isEmpty() ? "" : "; " + notSearched(relative)) + "). Name their folders with "
                        + CudaLibraries.PATH_VARIABLE
                        + ", or run 'jrun cuda install --with-libraries'");
    }

    /** The remedy for relative entries of JRUN_CUDA_PATH. */
    static String notSearched(List<String> relative) {
        return CudaLibraries.PATH_VARIABLE + " has '" + String.join("', '", relative)
                + "', which jrun does not search: write absolute paths";
    }

    private static boolean opensDriver() {
        try {
            SymbolLookup.libraryLookup(DRIVER, Arena.global());
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
