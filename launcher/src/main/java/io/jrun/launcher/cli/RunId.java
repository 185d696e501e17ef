package io.jrun.launcher.cli;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HexFormat;

/** Makes and checks names of jobs. The form is strict because folders and sockets have these names. Stateless. */
final class RunId {
    private static final int MAX_LENGTH = 64;

    private RunId() {}

    static boolean isUsable(String id) {
        return id.matches("[A-Za-z0-9][A-Za-z0-9._-]{0," + (MAX_LENGTH - 1) + "}");
    }

    /** @throws UsageException if {@code id} is not usable */
    static void check(String id, String name) {
        if (!isUsable(id)) {
            throw OptionValues.refused(
                    name,
                    id,
                    "up to " + MAX_LENGTH + " letters, digits, dots, dashes and underscores, a letter or digit first");
        }
    }

    /** Makes a unique name that sorts by time: {@code 20260102-030405-1f2e3d4c}, in UTC. */
    static String generate() {
        LocalDateTime now = LocalDateTime.ofEpochSecond(System.currentTimeMillis() / 1000, 0, ZoneOffset.UTC);
        return two(now.getYear()) + two(now.getMonthValue()) + two(now.getDayOfMonth()) + "-" + two(now.getHour())
                + two(now.getMinute()) + two(now.getSecond()) + "-"
                + HexFormat.of().formatHex(randomBytes(4));
    }

    /** Reads random bytes from the kernel, because the providers of SecureRandom take 20 ms to load. */
    private static byte[] randomBytes(int count) {
        try (InputStream in = Files.newInputStream(Path.of("/dev/urandom"))) {
            return in.readNBytes(count);
        } catch (IOException e) {
            throw new IllegalStateException("/dev/urandom cannot be read", e);
        }
    }

    private static String two(int number) {
        return number < 10 ? "0" + number : Integer.toString(number);
    }
}
