package io.jrun.agent.worker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Finds the processes of a worker's group that handle a signal and survive it. Reads Linux's /proc. */
final class SignalMask {
    private SignalMask() {}

    /** The members of the process group {@code group} that have a handler for {@code signal}. */
    static List<Long> handlers(long group, int signal) {
        List<Long> pids = new ArrayList<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                if (groupOf(process) == group && catches(process, signal)) {
                    pids.add(Long.parseLong(process.getFileName().toString()));
                }
            }
        } catch (IOException e) {
            return List.of(); // without /proc the handlers are unknown, so jrun does not send a signal that may kill
        }
        return pids;
    }

    private static long groupOf(Path process) {
        try {
            String stat = Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1);
            String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            return Long.parseLong(afterName[2]);
        } catch (IOException e) {
            return -1; // the process has ended
        }
    }

    private static boolean catches(Path process, int signal) {
        try {
            for (String line : Files.readAllLines(process.resolve("status"), StandardCharsets.ISO_8859_1)) {
                if (line.startsWith("SigCgt:")) {
                    long mask = Long.parseUnsignedLong(
                            line.substring("SigCgt:".length()).strip(), 16);
                    return (mask >>> (signal - 1) & 1) == 1;
                }
            }
        } catch (IOException e) {
            return false;
        }
        return false;
    }
}
