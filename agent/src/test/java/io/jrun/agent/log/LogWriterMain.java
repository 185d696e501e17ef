package io.jrun.agent.log;

import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.zip.CRC32;

/**
 * Writes numbered lines with checksums: {@code rank sequence length crc payload}. Payloads are random bytes other than
 * newline, so mostly invalid UTF-8, of 1 B to 70 kB. The last line has no newline.
 */
final class LogWriterMain {
    private static final int MAX_PAYLOAD = 70_000;

    private LogWriterMain() {}

    /** Arguments: rank, lines. */
    public static void main(String[] args) throws IOException {
        int rank = Integer.parseInt(args[0]);
        int lines = Integer.parseInt(args[1]);
        Random random = new Random(rank);
        try (OutputStream out = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out))) {
            for (int sequence = 0; sequence < lines; sequence++) {
                byte[] line = line(rank, sequence, random);
                boolean last = sequence == lines - 1;
                out.write(line, 0, last ? line.length - 1 : line.length);
                if (random.nextInt(4) == 0) {
                    out.flush();
                }
            }
        }
    }

    static byte[] line(int rank, int sequence, Random random) throws IOException {
        byte[] payload = new byte[1 + (random.nextInt(8) == 0 ? random.nextInt(MAX_PAYLOAD) : random.nextInt(100))];
        random.nextBytes(payload);
        for (int i = 0; i < payload.length; i++) {
            payload[i] = payload[i] == '\n' ? (byte) 0xff : payload[i];
        }
        CRC32 crc = new CRC32();
        crc.update(payload);
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        line.write("%d %d %d %08x "
                .formatted(rank, sequence, payload.length, crc.getValue())
                .getBytes(StandardCharsets.US_ASCII));
        line.write(payload);
        line.write('\n');
        return line.toByteArray();
    }

    /** The output of {@link #main}, the last newline included. */
    static byte[] expected(int rank, int lines) throws IOException {
        Random random = new Random(rank);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (int sequence = 0; sequence < lines; sequence++) {
            all.write(line(rank, sequence, random));
            int _ = random.nextInt(4);
        }
        return all.toByteArray();
    }
}
