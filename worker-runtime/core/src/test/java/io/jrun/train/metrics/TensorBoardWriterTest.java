package io.jrun.train.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TensorBoardWriterTest {
    /** CRC-32C of the check string and of RFC 3720, section B.4. */
    private static final int CHECK = 0xe3069283;

    private static final int ZEROS = 0x8a9136aa;

    @TempDir
    private Path folder;

    private static int mask(int crc) {
        return ((crc >>> 15) | (crc << 17)) + 0xa282ead8;
    }

    @Test
    void checksumsAreMaskedCastagnoli() {
        byte[] digits = "123456789 and what follows".getBytes(StandardCharsets.US_ASCII);
        assertThat(TensorBoardWriter.maskedCrc(digits, 9)).isEqualTo(mask(CHECK));
        assertThat(TensorBoardWriter.maskedCrc(new byte[32], 32)).isEqualTo(mask(ZEROS));
    }

    /** The bytes were made by {@code protoc --encode=tensorflow.Event} from the same values. */
    @Test
    void anEventHasTheBytesOfProtoc() {
        Map<String, Double> values = new LinkedHashMap<>();
        values.put("loss", 1.5);
        values.put("phase/data_seconds", -0.0078125);
        assertThat(HexFormat.of().formatHex(ScalarEvent.scalars(1_700_000_000.25, 300, values)))
                .isEqualTo(
                        "0900001040fc54d94110ac022a280a0b0a046c6f7373150000c03f0a190a1270686173652f646174615f7365636f6e647315000000bc");
    }

    @Test
    void everyRecordOfAFileIsWhole() throws IOException {
        Path file;
        try (TensorBoardWriter writer = TensorBoardWriter.open(folder.resolve("runs/1"))) {
            file = writer.file();
            writer.write(1, Map.of("loss", 2.5));
            assertThat(records(Files.readAllBytes(file)))
                    .as("each write is flushed")
                    .hasSize(2);
            writer.write(20, Map.of("loss", 2.25));
        }
        assertThat(file.getFileName().toString()).startsWith("events.out.tfevents.");
        List<byte[]> events = records(Files.readAllBytes(file));
        assertThat(events).hasSize(3);
        assertThat(new String(events.getFirst(), StandardCharsets.ISO_8859_1)).endsWith("\032\rbrain.Event:2");
        byte[] last = events.getLast();
        byte[] after = ScalarEvent.scalars(0, 20, Map.of("loss", 2.25));
        assertThat(Arrays.copyOfRange(last, 9, last.length)).isEqualTo(Arrays.copyOfRange(after, 9, after.length));
        double wallTime = ByteBuffer.wrap(last).order(ByteOrder.LITTLE_ENDIAN).getDouble(1);
        assertThat(wallTime).isBetween(System.currentTimeMillis() / 1e3 - 100, System.currentTimeMillis() / 1e3);
    }

    @Test
    void twoWritersOfOneSecondHaveFilesOfTheirOwn() throws IOException {
        try (TensorBoardWriter first = TensorBoardWriter.open(folder);
                TensorBoardWriter second = TensorBoardWriter.open(folder)) {
            assertThat(first.file()).isNotEqualTo(second.file());
        }
    }

    /** Reads TFRecords and checks both checksums of each. */
    private static List<byte[]> records(byte[] file) {
        ByteBuffer in = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        List<byte[]> events = new ArrayList<>();
        while (in.hasRemaining()) {
            byte[] length = new byte[Long.BYTES];
            in.get(length);
            assertThat(in.getInt()).isEqualTo(TensorBoardWriter.maskedCrc(length, length.length));
            byte[] event = new byte
                    [Math.toIntExact(ByteBuffer.wrap(length)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .getLong())];
            in.get(event);
            assertThat(in.getInt()).isEqualTo(TensorBoardWriter.maskedCrc(event, event.length));
            events.add(event);
        }
        return events;
    }
}
