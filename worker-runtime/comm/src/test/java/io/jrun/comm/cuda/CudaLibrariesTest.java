package io.jrun.comm.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CudaLibrariesTest {
    @TempDir
    Path folder;

    @Test
    void librariesOfCudaAreSearchedInTheDocumentedOrder() throws IOException {
        String name = "libcudart.so.13";
        Path pip = library("venv/nvidia/cu13/lib", name);
        Path fetched = library("fetched", name);
        Path chosen = library("path", name);
        Path newest = library("usr/local/cuda-13.1/lib64", name);
        Path older = library("usr/local/cuda-9.2/lib64", name);
        Path system = library("usr/lib64", name);
        Map<String, String> all = Map.of(
                "JRUN_CUDA_PATH",
                folder.resolve("venv").toString(),
                "LD_LIBRARY_PATH",
                "/missing:" + chosen.getParent());

        assertThat(found(all, Optional.of(Objects.requireNonNull(fetched.getParent()))))
                .contains(pip);
        assertThat(found(Map.of(), Optional.of(Objects.requireNonNull(fetched.getParent()))))
                .contains(fetched);
        assertThat(found(Map.of("LD_LIBRARY_PATH", "/missing:" + chosen.getParent()), Optional.empty()))
                .contains(chosen);
        assertThat(found(Map.of(), Optional.empty())).contains(newest);
        Files.delete(newest);
        assertThat(found(Map.of(), Optional.empty())).contains(older);
        Files.delete(older);
        assertThat(found(Map.of(), Optional.empty())).contains(system);
        Files.delete(system);
        assertThat(found(Map.of(), Optional.empty())).isEmpty();
        assertThat(CudaLibraries.of(all, folder, Optional.empty()).missing(List.of(name, "libcudnn.so.9")))
                .containsExactly("libcudnn.so.9");
    }

    @Test
    void relativeEntriesAreNamed() {
        assertThat(CudaLibraries.relativeEntries(Map.of("JRUN_CUDA_PATH", "/usr/lib:lib:~/cuda:")))
                .containsExactly("lib", "~/cuda");
        assertThat(CudaLibraries.relativeEntries(Map.of())).isEmpty();
    }

    private Optional<Path> found(Map<String, String> environment, Optional<Path> fetched) {
        return CudaLibraries.of(environment, folder, fetched).find("libcudart.so.13");
    }

    private Path library(String place, String name) throws IOException {
        return Files.createFile(Files.createDirectories(folder.resolve(place)).resolve(name));
    }
}
