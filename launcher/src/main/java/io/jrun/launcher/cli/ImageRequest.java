package io.jrun.launcher.cli;

import io.jrun.agent.container.ImageReference;
import io.jrun.launcher.job.UsageException;
import java.nio.file.Path;
import java.util.List;

/** A request to {@code jrun image}. */
public sealed interface ImageRequest {
    /** {@code ls}. */
    record ListAll(boolean json) implements ImageRequest {}

    /** {@code pull}. */
    record Pull(ImageReference image, boolean json) implements ImageRequest {}

    /** {@code import}: a .sqsh file of an image. */
    record Import(ImageReference image, Path output) implements ImageRequest {}

    /** {@code inspect}. The image is as it was typed. */
    record Inspect(String image, boolean json) implements ImageRequest {}

    /** {@code create}, of a folder. */
    record CreateOfFolder(Path output, Path rootfs) implements ImageRequest {}

    /** {@code create}, of Debian. */
    record CreateOfDebian(Path output, String suite, List<String> packages) implements ImageRequest {
        public CreateOfDebian {
            packages = List.copyOf(packages);
        }
    }

    /** {@code rm}. The images are as they were typed. */
    record Remove(List<String> images) implements ImageRequest {
        public Remove {
            images = List.copyOf(images);
        }
    }

    /** {@code prune}. */
    record Prune(int days) implements ImageRequest {}

    /**
     * Reads the command line.
     *
     * @throws UsageException in one line, if it cannot be done
     */
    static ImageRequest of(ParsedCommand line, CommandContext commandContext) {
        return new ImageRequestReader(line, commandContext).read();
    }
}
