package io.jrun.launcher.dashboard;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;

/**
 * Opens a page in the user's browser. The browser gets the name of a file that leads to the URL, and that only the user
 * can read: all users of a machine see the arguments of processes, and the URL has the token. Stateless.
 */
public final class BrowserOpening {
    private BrowserOpening() {}

    /**
     * Opens {@code url}, if this machine has a desktop.
     *
     * @param folder where the file is written; the file goes with this process
     * @param program the program that opens a file, {@code xdg-open}
     * @return the program; empty on a machine without a desktop, where the user opens the URL
     */
    public static Optional<Process> open(String url, Path folder, String program) {
        try {
            Files.createDirectories(folder);
            Path file = Files.createTempFile(
                    folder,
                    "dashboard-",
                    ".html",
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            file.toFile().deleteOnExit();
            Files.writeString(
                    file,
                    "<!doctype html><meta charset=\"utf-8\"><title>jrun dashboard</title>\n"
                            + "<meta http-equiv=\"refresh\" content=\"0;url=" + url + "\">\n"
                            + "<a href=\"" + url + "\">jrun dashboard</a>\n");
            return Optional.of(new ProcessBuilder(program, file.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
