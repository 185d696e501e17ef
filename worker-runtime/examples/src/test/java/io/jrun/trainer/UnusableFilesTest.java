package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jrun.models.ModelFolder;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.checkpoint.SafetensorsFolder;
import io.jrun.train.pickle.TorchFile;
import io.jrun.train.token.TextSource;
import io.jrun.train.token.TokenFile;
import io.jrun.train.token.Tokenizers;
import io.jrun.train.weights.WeightFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each reader of a user's file ends at once with one line, also for a pipe without a writer and a device without end. */
@Timeout(120)
class UnusableFilesTest {
    @TempDir
    static Path folder;

    private static final Map<String, String> REASONS = Map.of(
            "pipe", "it is a pipe, not a regular file",
            "folder", "it is a folder, not a regular file",
            "zero", "it is a device, not a regular file",
            "dangling", "it is a link to a file that does not exist");

    @BeforeAll
    static void makeFiles() throws Exception {
        assertThat(new ProcessBuilder("mkfifo", folder.resolve("pipe").toString())
                        .start()
                        .waitFor())
                .isZero();
        Files.createDirectory(folder.resolve("folder"));
        Files.createSymbolicLink(folder.resolve("zero"), Path.of("/dev/zero"));
        Files.createSymbolicLink(folder.resolve("dangling"), folder.resolve("nothing"));
    }

    private interface Reader {
        void read(Path file) throws IOException;
    }

    private static Map<String, Reader> readers() {
        return Map.of(
                "text.txt", file -> new TextSource(file, 1000, "text").read(_ -> {}),
                "text.zip", file -> new TextSource(file, 1000, "text").read(_ -> {}),
                "data.tokens", TokenFile::open,
                "a.safetensors", Safetensors::open,
                "b.pth", TorchFile::open,
                "c.safetensors", WeightFiles::open,
                "model.safetensors.index.json", SafetensorsFolder::readIndex,
                "config.json", file -> ModelFolder.build(file.resolveSibling("")),
                "tokenizer.json", Tokenizers::open,
                "ds.json", file -> GptArguments.parse("--deepspeed=" + file));
    }

    static Stream<Arguments> cases() {
        return readers().keySet().stream()
                .flatMap(name -> REASONS.keySet().stream().map(kind -> Arguments.of(name, kind)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void isRefusedInOneLine(String name, String kind) throws IOException {
        if (kind.equals("folder") && (name.startsWith("text.") || name.startsWith("c.") || name.startsWith("tok"))) {
            return; // a folder of such files is an input
        }
        Path file = Files.createDirectories(folder.resolve(kind + "-" + name)).resolve(name);
        if (kind.equals("dangling")) {
            Files.createSymbolicLink(file, folder.resolve("nothing"));
        } else {
            Files.createSymbolicLink(file, folder.resolve(kind));
        }
        Throwable failure =
                catchThrowable(() -> Objects.requireNonNull(readers().get(name)).read(file));
        assertThat(failure)
                .hasMessageContaining(file.toString())
                .hasMessageContaining(REASONS.get(kind))
                .hasMessageNotContainingAny("Exception", "\n");
    }
}
