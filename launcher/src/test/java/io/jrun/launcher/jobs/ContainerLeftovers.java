package io.jrun.launcher.jobs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The processes, mounts and files that the containers of an image have left on this machine. Stateless. */
final class ContainerLeftovers {
    private ContainerLeftovers() {}

    /**
     * One line for each loop device of the image, and for each process that has the image in its command or its mounts.
     */
    static List<String> of(Path image) {
        List<String> found = new ArrayList<>();
        try (DirectoryStream<Path> loops = Files.newDirectoryStream(Path.of("/sys/block"), "loop*")) {
            for (Path loop : loops) {
                if (text(loop.resolve("loop/backing_file")).contains(image.toString())) {
                    found.add(loop.getFileName().toString());
                }
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                if (text(process.resolve("cmdline")).contains(image.toString())
                        || text(process.resolve("mountinfo")).contains(image.toString())) {
                    found.add(process.getFileName() + " "
                            + text(process.resolve("cmdline")).replace('\0', ' '));
                }
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        return found;
    }

    /** Empty for what has ended meanwhile. */
    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }
}
