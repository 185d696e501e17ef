package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32;

/** Numbered lines with checksums: {@code rank stream sequence length crc payload}. */
final class CheckedLines {
    private static final int COUNT = 24;

    /**
     * Writes them alternately to stdout and stderr, in pieces of any size. Payloads are random bytes, so no UTF-8, of 1
     * B to 70 kB; the last line of each stream has no newline.
     */
    static final String WRITER = """
            import os, random, zlib
            rank = int(os.environ["RANK"])
            chance = random.Random(rank)

            def write(fd, data):
                while data:
                    data = data[os.write(fd, data[:chance.randrange(1, 100000)]):]

            for i in range(%1$d):
                for fd, name in (1, "out"), (2, "err"):
                    size = (1, 70000)[i] if i < 2 else chance.randrange(1, 70001)
                    payload = chance.randbytes(size).replace(b"\\n", b"\\xff")
                    head = "%%d %%s %%d %%d %%d " %% (rank, name, i, size, zlib.crc32(payload))
                    write(fd, head.encode() + payload + (b"\\n" if i < %1$d - 1 else b""))
            """.formatted(COUNT);

    private CheckedLines() {}

    /**
     * Checks that {@code lines}, one character a byte, are all that {@code rank} wrote to {@code stream}, in its order.
     */
    static void assertComplete(List<String> lines, int rank, String stream) {
        assertThat(lines).hasSize(COUNT);
        for (int i = 0; i < COUNT; i++) {
            String[] fields = lines.get(i).split(" ", 6);
            assertThat(List.of(fields).subList(0, 3)).containsExactly("" + rank, stream, "" + i);
            assertThat(fields[5]).hasSize(Integer.parseInt(fields[3]));
            CRC32 crc = new CRC32();
            crc.update(fields[5].getBytes(StandardCharsets.ISO_8859_1));
            assertThat(Long.toString(crc.getValue())).isEqualTo(fields[4]);
        }
    }
}
