package io.jrun.train;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibtorchBuildTest {
    @TempDir
    Path folder;

    @Test
    void aProcessWithoutAGpuHasThePlainBuild() throws IOException {
        assertThat(LibtorchBuild.choose(Map.of(), folder).whyPlain()).contains("there is no /dev/nvidia0");
        Files.createFile(folder.resolve("nvidia0"));
        for (String hidden : new String[] {"", "-1", "NoDevFiles"}) {
            LibtorchBuild build = LibtorchBuild.choose(Map.of("CUDA_VISIBLE_DEVICES", hidden), folder);
            assertThat(build.cuda()).isEmpty();
            assertThat(build.whyPlain()).contains("CUDA_VISIBLE_DEVICES is '" + hidden + "'");
        }
    }

    @Test
    void theReasonIsTheFirstMissingPart() {
        Map<String, String> gpu = Map.of("CUDA_VISIBLE_DEVICES", "GPU-1f", "HOME", folder.toString());

        assertThat(LibtorchBuild.choose(gpu, folder).whyPlain())
                .isEqualTo("the CUDA build of libtorch is not installed. Run 'jrun cuda install' (458 MB)");
    }

    @Test
    void theVariableDecides() {
        assertThat(LibtorchBuild.choose(Map.of("JRUN_LIBTORCH", "cpu"), folder).whyPlain())
                .contains("JRUN_LIBTORCH is cpu");
        assertThatThrownBy(
                        () -> LibtorchBuild.choose(Map.of("JRUN_LIBTORCH", "cuda", "HOME", folder.toString()), folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'jrun cuda install'");
        assertThatThrownBy(() -> LibtorchBuild.choose(Map.of("JRUN_LIBTORCH", "gpu"), folder))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("JRUN_LIBTORCH is 'gpu', not one of auto, cpu, cuda.");
    }

    @Test
    void theJarIsFoundInTheInstallationAndInTheUsersOwnCache() throws IOException {
        Path plain = folder.resolve("jrun/lib/runtime/pytorch-2.10.0-1.5.13-linux-x86_64.jar");
        Map<String, String> user = Map.of("HOME", folder.toString());
        assertThat(CudaArchive.find(plain, user)).isEmpty();

        Path own = Files.createDirectories(folder.resolve(".cache/jrun/cuda-2.10.0-1.5.13"));
        Path cached = Files.createFile(own.resolve("pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar"));
        assertThat(CudaArchive.find(plain, user)).contains(new CudaArchive(cached));
        Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThat(CudaArchive.find(plain, user)).as("any user may write there").isEmpty();

        Path installed =
                Files.createDirectories(folder.resolve("jrun/lib/cuda")).resolve(cached.getFileName());
        Files.createFile(installed);
        assertThat(CudaArchive.find(plain, user)).contains(new CudaArchive(installed));
    }

    @Test
    void aDamagedJarIsNamedAsSuch() throws IOException {
        Path jar = Files.writeString(folder.resolve("pytorch-2.10.0-1.5.13-linux-x86_64-gpu.jar"), "half a jar");

        assertThatThrownBy(() -> new CudaArchive(jar).unpack(folder.resolve("cache")))
                .hasMessageContaining("cannot unpack " + jar)
                .hasMessageContaining("The jar is damaged. Run 'jrun cuda install' again");
    }
}
