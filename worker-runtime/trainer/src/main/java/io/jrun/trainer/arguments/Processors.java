package io.jrun.trainer.arguments;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** The processors of this machine. Stateless. */
public final class Processors {
    private static final Path FOLDER = Path.of("/sys/devices/system/cpu");

    private Processors() {}

    /**
     * The processors of the machine, also those that this process may not use: a worker that jrun binds to some
     * processors may still have more threads.
     */
    public static int ofMachine() {
        int count = 0;
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(FOLDER, "cpu[0-9]*")) {
            for (Path _ : folders) {
                count++;
            }
        } catch (IOException _) {
            count = 0; // a container may hide the folder
        }
        return Math.max(count, Runtime.getRuntime().availableProcessors());
    }
}
