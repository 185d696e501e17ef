package io.jrun.agent.log;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;

/** Writes a log of numbered lines without end, and prints the number of written bytes again and again. */
final class LimitedLogWriterMain {
    /** The bytes of each line. The size of a file is no multiple. */
    static final int LINE_BYTES = 37;

    private LimitedLogWriterMain() {}

    /** Argument: the log. */
    public static void main(String[] args) throws IOException {
        try (LogFile file =
                new LogFile(Path.of(args[0]), Optional.of(new LogLimit(LogLimit.LEAST_BYTES, 3)), () -> {})) {
            for (long at = 0; ; at += 500) {
                file.write(bytes(at, 500), 0, 500);
                System.out.println("%010d".formatted(at + 500));
            }
        }
    }

    /** The content of a log from {@code offset} on. */
    static byte[] bytes(long offset, int count) {
        StringBuilder lines = new StringBuilder();
        long line = offset / LINE_BYTES;
        int skip = (int) (offset % LINE_BYTES);
        while (lines.length() < skip + count) {
            String number = Long.toString(line++);
            lines.append("line ")
                    .append("0".repeat(LINE_BYTES - 6 - number.length()))
                    .append(number)
                    .append('\n');
        }
        return lines.substring(skip, skip + count).getBytes(StandardCharsets.US_ASCII);
    }
}
