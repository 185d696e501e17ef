package io.jrun.train;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.jrun.comm.cuda.CudaBuildJar;
import io.jrun.comm.cuda.CudaLibraries;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Prints which build of libtorch the workers of this machine use, and the versions of the driver, CUDA, cuDNN and NCCL:
 * a line for each with tabs between the state ({@code ok}, {@code absent}, {@code problem}), the thing, its version or
 * nothing, and a text. {@code jrun doctor} and {@code jrun cuda status} run this class in a JVM of its own.
 */
public final class LibtorchReport {
    private static final String BRINGS = "'jrun cuda install --with-libraries' brings it";

    /** The CUDA version of the presets, as the driver counts: 13000 is 13.0. A driver of CUDA 13.0 runs all of 13.x. */
    private static final long NEEDED_DRIVER = 13000;

    private final List<String> lines = new ArrayList<>();
    private final Optional<CudaArchive> archive;
    private final CudaLibraries libraries;

    private LibtorchReport() {
        archive = CudaArchive.find(System.getenv());
        archive.ifPresent(CudaArchive::publishLibraries);
        libraries = CudaLibraries.here();
    }

    /** Prints the lines. */
    public static void main(String[] args) {
        new LibtorchReport().lines().forEach(System.out::println);
    }

    private List<String> lines() {
        Optional<String> damage = archive.flatMap(found -> CudaBuildJar.damage(found.jar()));
        if (damage.isPresent()) {
            add("problem", "libtorch", "", damage.get() + "; run 'jrun cuda install' again");
        } else {
            build();
        }
        List<String> relative = CudaLibraries.relativeEntries(System.getenv());
        if (!relative.isEmpty()) {
            add("problem", CudaLibraries.PATH_VARIABLE, "", LibtorchBuild.notSearched(relative));
        }
        if (archive.isPresent() || LibtorchBuild.seesGpu()) {
            driver();
            library("cuda", "libcudart.so.13", "cudaRuntimeGetVersion", LibtorchReport::cudaVersion);
            library("cudnn", "libcudnn.so.9", "cudnnGetVersion", LibtorchReport::libraryVersion);
            library("nccl", "libnccl.so.2", "ncclGetVersion", LibtorchReport::libraryVersion);
            List<String> missing = libraries.missing(LibtorchBuild.NEEDED);
            if (!missing.isEmpty()) {
                add(
                        "absent",
                        "cuda libraries",
                        "",
                        "missing: " + String.join(", ", missing) + "; "
                                + CudaLibraries.PATH_VARIABLE
                                + " names their folders, or 'jrun cuda install --with-libraries'"
                                + " brings them");
            }
        }
        return lines;
    }

    /** A setting that ends a worker, such as JRUN_LIBTORCH=cuda without the build, is a problem in the words of the worker. */
    private void build() {
        try {
            LibtorchBuild build = LibtorchBuild.choose();
            boolean isPlain = build.cuda().isEmpty();
            add(
                    isPlain && LibtorchBuild.seesGpu() ? "problem" : "ok",
                    "libtorch",
                    "",
                    isPlain
                            ? "workers use the plain build, for CPUs: " + build.whyPlain()
                            : "workers use the CUDA build, "
                                    + build.cuda().get().jar());
        } catch (IllegalArgumentException e) {
            add("problem", "libtorch", "", "a worker cannot start: " + e.getMessage());
        }
    }

    private void driver() {
        OptionalLong version = number("libcuda.so.1", "cuDriverGetVersion");
        if (version.isEmpty()) {
            add("absent", "driver", "", "libcuda.so.1 cannot be opened; install NVIDIA's driver, 580 or newer");
        } else if (version.getAsLong() < NEEDED_DRIVER) {
            add(
                    "problem",
                    "driver",
                    cudaVersion(version.getAsLong()),
                    "the driver runs CUDA "
                            + cudaVersion(version.getAsLong()) + ", libtorch's CUDA build needs CUDA "
                            + cudaVersion(NEEDED_DRIVER) + "; install driver 580 or newer");
        } else {
            add("ok", "driver", cudaVersion(version.getAsLong()), "runs CUDA " + cudaVersion(version.getAsLong()));
        }
    }

    private interface VersionText {
        String of(long number);
    }

    private void library(String what, String name, String function, VersionText text) {
        Optional<Path> file = libraries.find(name);
        if (file.isEmpty()) {
            add("absent", what, "", name + " is missing; " + BRINGS);
            return;
        }
        OptionalLong version = number(file.get().toString(), function);
        if (version.isEmpty()) {
            add("problem", what, "", file.get() + " cannot be opened; " + BRINGS);
        } else {
            String words = text.of(version.getAsLong());
            add("ok", what, words, words + ", " + file.get());
        }
    }

    /** Calls {@code int f(int*)}, or {@code size_t cudnnGetVersion()}. Empty if the library cannot be opened. */
    private static OptionalLong number(String library, String function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment symbol = SymbolLookup.libraryLookup(library, Arena.global())
                    .find(function)
                    .orElse(MemorySegment.NULL);
            if (symbol.equals(MemorySegment.NULL)) {
                return OptionalLong.empty();
            }
            Linker linker = Linker.nativeLinker();
            if (function.startsWith("cudnn")) {
                return OptionalLong.of((long) linker.downcallHandle(symbol, FunctionDescriptor.of(JAVA_LONG))
                        .invokeExact());
            }
            MemorySegment place = arena.allocate(JAVA_INT);
            int code = (int) linker.downcallHandle(symbol, FunctionDescriptor.of(JAVA_INT, ADDRESS))
                    .invokeExact(place);
            return code == 0 ? OptionalLong.of(place.get(JAVA_INT, 0)) : OptionalLong.empty();
        } catch (IllegalArgumentException e) {
            return OptionalLong.empty();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** 13010 is 13.1. */
    private static String cudaVersion(long number) {
        return number / 1000 + "." + number % 1000 / 10;
    }

    /** Of cuDNN 92400 is 9.24.0, of NCCL 23007 is 2.30.7. */
    private static String libraryVersion(long number) {
        return number / 10_000 + "." + number % 10_000 / 100 + "." + number % 100;
    }

    private void add(String state, String what, String version, String text) {
        lines.add(String.join("\t", state, what, version, text));
    }
}
