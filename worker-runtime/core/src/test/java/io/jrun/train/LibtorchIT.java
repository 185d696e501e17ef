package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.WorkerSetup;
import io.jrun.comm.worker.WorkerMain;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibtorchIT {
    @TempDir
    private Path folder;

    /**
     * A cold cache, three workers that start at once, and a foreign libtorch_cpu.so where the dynamic linker looks
     * first: without unpacking and opening in order each of the three goes wrong. The program of one worker knows
     * nothing of {@link Libtorch}: its first line is a tensor. Later, what tidies temporary folders may take any file,
     * or cut it short.
     */
    @Test
    void workersFindTheRightLibrariesOnAColdCacheAndOnADamagedOne() throws IOException, InterruptedException {
        Path cache = folder.resolve("cache");
        Path foreign = foreignLibtorch();
        List<JavaProcess> workers = List.of(start(cache, foreign), start(cache, foreign));
        JavaProcess tensorFirst = JavaProcess.start(
                folder,
                WorkerMain.class,
                List.of(
                        "-Dorg.bytedeco.javacpp.cachedir=" + cache,
                        "-D" + WorkerSetup.PROPERTY + "=" + NativeSetup.class.getName()),
                Map.of("LD_LIBRARY_PATH", foreign.toString()),
                TensorFirst.class.getName());
        assertThat(tensorFirst.join()).contains("sum 2.0");
        for (JavaProcess worker : workers) {
            assertThat(worker.join()).contains(cache.toString());
        }
        try (Stream<Path> files = Files.walk(cache)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .contains("libtorch_cpu.so", "libjnitorch.so", ".jrun-lock");
        }

        Path library;
        try (Stream<Path> files = Files.walk(cache)) {
            library = files.filter(file -> file.endsWith("libgomp.so.1"))
                    .findFirst()
                    .orElseThrow();
        }
        long size = Files.size(library);
        Files.delete(library);
        assertThat(start(cache, folder).join()).contains(cache.toString());
        assertThat(library).hasSize(size);
        Files.writeString(library, "cut short");
        assertThat(start(cache, folder).join()).contains(cache.toString());
        assertThat(library).hasSize(size);
    }

    /** The worker's program. */
    static final class TensorFirst {
        public static void main(String[] args) {
            System.out.println("sum " + torch.ones(2).sum().item_float());
        }
    }

    @Test
    void loadingTwiceIsLoadingOnce() {
        Libtorch.load();
        Libtorch.load();
        assertThat(torch.ones(2).sum().item_float()).isEqualTo(2f);
    }

    /** They are sought in every jar and folder, which takes longer than all the rest of loading. */
    @Test
    void librariesOfGpuBuildsAreSoughtOnlyWhereOneIsOnTheClassPathOrChosen() throws IOException, InterruptedException {
        Libtorch.load();
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        assertThat(librariesOpened()).contains("libtorch_cpu.so").doesNotContain("cudnn");
        assertThat(librariesOpened("-cp", classPath + File.pathSeparator + folder.resolve("opencv-gpu.jar")))
                .contains("libtorch_cpu.so", "cudnn");
        assertThat(librariesOpened("-Dorg.bytedeco.javacpp.platform.extension=-gpu"))
                .contains("libtorch_cpu.so", "cudnn");
    }

    /** It does its work again with each class; the switch that spares it is for the whole process. */
    @Test
    void aFilledCacheIsUsedWithoutThePresetsLoaderWhereNoOtherThreadMayNeedIt()
            throws IOException, InterruptedException {
        Libtorch.load();
        String loader = "org.bytedeco.javacpp.ClassProperties ";
        String output = classesLoaded("alone", "another class");
        int sum = output.indexOf("sum 2.0");
        assertThat(output.substring(0, sum)).doesNotContain(loader);
        assertThat(output.substring(sum)).contains("amsgrad ", loader);
        assertThat(classesLoaded("another thread")).contains("sum 2.0", loader);
        assertThat(classesLoaded("another virtual thread")).contains("sum 2.0", loader);
    }

    private String classesLoaded(String... what) throws IOException, InterruptedException {
        return JavaProcess.start(folder, LoadFirst.class, List.of("-Xlog:class+load"), Map.of(), what)
                .join();
    }

    /** Loads libtorch alone or beside another thread, uses it, and perhaps one of its classes that few need. */
    static final class LoadFirst {
        public static void main(String[] args) {
            switch (args[0]) {
                case "another thread" -> Thread.ofPlatform().daemon().start(LoadFirst::stay);
                case "another virtual thread" -> Thread.ofVirtual().start(LoadFirst::stay);
                default -> {}
            }
            Libtorch.load();
            System.out.println("sum " + torch.ones(2).sum().item_float());
            if (args.length > 1) {
                System.out.println("amsgrad " + new AdamWOptions().amsgrad().get());
            }
        }

        private static void stay() {
            LockSupport.park();
        }
    }

    private String librariesOpened(String... options) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of("-Xlog:library=info"));
        all.addAll(List.of(options));
        return JavaProcess.start(folder, Libtorch.class, all, Map.of()).join();
    }

    @Test
    void threadsOfBothPoolsAreSet() {
        Libtorch.setThreads(1);
        assertThat(torch.get_num_threads()).isEqualTo(1);
        assertThatThrownBy(() -> Libtorch.setThreads(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 1");
    }

    @Test
    void theDefaultCacheBelongsToThisUserAlone() throws IOException {
        Path own = NativeCache.defaultDirectory().getParent();
        assertThat(own).isNotNull();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(own)))
                .isEqualTo("rwx------");
    }

    private JavaProcess start(Path cache, Path foreign) throws IOException {
        return JavaProcess.start(
                folder,
                Libtorch.class,
                List.of("-Dorg.bytedeco.javacpp.cachedir=" + cache),
                Map.of("LD_LIBRARY_PATH", foreign.toString()));
    }

    /** A real library under a wrong name, as a system's libtorch of another version would be. */
    private Path foreignLibtorch() throws IOException {
        Libtorch.load();
        Path foreign = Files.createDirectory(folder.resolve("foreign"));
        Path library = Loader.cacheResource(
                        Loader.class, "/org/bytedeco/pytorch/" + Loader.getPlatform() + "/libgomp.so.1")
                .toPath();
        Files.copy(library, foreign.resolve("libtorch_cpu.so"));
        return foreign;
    }
}
