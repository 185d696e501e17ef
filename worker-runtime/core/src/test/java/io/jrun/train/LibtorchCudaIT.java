package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.comm.WorkerSetup;
import io.jrun.comm.cuda.CudaLibraries;
import io.jrun.comm.worker.WorkerMain;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Context;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** libtorch's CUDA build in a worker. Without a driver of NVIDIA the build computes on the CPU. */
class LibtorchCudaIT {
    private static final String CLASS_PATH =
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));

    @TempDir
    private Path folder;

    /**
     * The first worker finds an empty cache, the second a filled one, and the third may not turn off the presets' loader.
     * A class that jrun does not know must not bring the plain build into the process.
     */
    @Test
    void aWorkerComputesWithTheCudaBuildAloneAndWithLibrariesOfCudaFromAnyFolder() throws Exception {
        Path jar = gpuJar();
        assumeTrue(Files.exists(jar), () -> skipped(jar + " is missing; 'jrun cuda install' fetches it with Maven"));
        List<String> missing = CudaLibraries.here().missing(LibtorchBuild.NEEDED);
        assumeTrue(
                missing.isEmpty(),
                () -> skipped("CUDA's own libraries are missing: " + missing + "; set " + CudaLibraries.PATH_VARIABLE));

        for (String what : List.of("cold", "warm", "thread")) {
            String printed = worker(Map.of("JRUN_LIBTORCH", "cuda"), what, "-D" + CudaArchive.PROPERTY + "=" + jar);
            assertThat(printed)
                    .as(what)
                    .contains("sum 2.0", "amsgrad false", "without CUDA: Optional.empty", "cuDNN true")
                    .contains("builds [linux-x86_64-gpu]");
        }
    }

    /** Today's presets end such a process with SIGABRT. */
    @Test
    void aJarWithTheCudaBuildOnTheClassPathIsRefusedInOneLine() throws IOException {
        Path jar = Files.createFile(folder.resolve("pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar"));

        assertThatThrownBy(() -> worker(Map.of(), "plain", "-cp", CLASS_PATH + File.pathSeparator + jar))
                .hasMessageContaining("exit code 2")
                .hasMessageContaining("jrun: " + jar + " is on the class path, beside the build of libtorch that jrun")
                .hasMessageContaining("'jrun cuda install'")
                .hasMessageNotContaining("at io.jrun");
    }

    @Test
    void aProcessWithoutAGpuHasThePlainBuildAndSaysWhy() throws Exception {
        String printed = worker(Map.of("CUDA_VISIBLE_DEVICES", ""), "plain");

        assertThat(printed)
                .contains("sum 2.0", "builds [linux-x86_64]")
                .contains("without CUDA: Optional[this process sees no GPU (CUDA_VISIBLE_DEVICES is '').");
    }

    private static String skipped(String why) {
        System.out.println("skipped: " + why);
        return why;
    }

    private static Path gpuJar() {
        return Arrays.stream(CLASS_PATH.split(File.pathSeparator))
                .filter(entry -> CudaArchive.isArchive(entry, Libtorch.ARCHIVE_SUFFIX))
                .map(entry -> Path.of(entry.replace(Libtorch.ARCHIVE_SUFFIX, "-linux-x86_64-gpu.jar")))
                .findFirst()
                .orElseThrow();
    }

    private String worker(Map<String, String> environment, String what, String... options)
            throws IOException, InterruptedException {
        List<String> all = Stream.concat(
                        Stream.of("-D" + WorkerSetup.PROPERTY + "=" + NativeSetup.class.getName()), Stream.of(options))
                .collect(Collectors.toList());
        if (!what.equals("plain")) {
            all.add("-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"));
        }
        return JavaProcess.start(folder, WorkerMain.class, all, environment, Program.class.getName(), what)
                .join();
    }

    /** The worker's program. */
    static final class Program {
        public static void main(String[] args) throws IOException {
            if (args[0].equals("thread")) {
                Thread.ofPlatform().daemon().start(LockSupport::park);
            }
            Libtorch.load();
            System.out.println("sum " + torch.ones(2).sum().item_float());
            System.out.println("amsgrad " + new AdamWOptions().amsgrad().get());
            System.out.println("without CUDA: " + Libtorch.whyWithoutCuda());
            if (Libtorch.whyWithoutCuda().isEmpty()) {
                System.out.println("cuDNN " + Context.hasCuDNN() + " " + Context.versionRuntimeCuDNN());
            }
            try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
                System.out.println("builds "
                        + maps.filter(line -> line.matches(".*/lib(torch|jnitorch|c10)[^/]*\\.so"))
                                .map(line -> line.replaceFirst(".*/([^/]*)/[^/]*$", "$1"))
                                .distinct()
                                .toList());
            }
        }
    }
}
