package io.jrun.train.checkpoint.sharded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.train.Libtorch;
import io.jrun.train.storage.FileStorage;
import io.jrun.train.storage.ObjectReader;
import io.jrun.train.storage.ObjectWriter;
import io.jrun.train.storage.Storage;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A part of three blocks and a short block is read in pieces of many sizes. */
class VerifiedPartTest {
    private static final int BLOCK = SavedPart.BLOCK_BYTES;
    private static final int BYTES = 3 * BLOCK + 12_345;
    private static final int TURNS = 6;
    private static final String FILE = "part";
    private static final SplittableRandom RANDOM = new SplittableRandom(Long.getLong("jrun.test.seed", 1));

    @TempDir
    private static Path folder = Path.of("");

    private static final byte[] CONTENT = new byte[BYTES];
    private static Storage storage = FileStorage.at(folder);
    private static SavedPart part = new SavedPart(FILE, 0, List.of());

    private record Range(int from, int count) {}

    @BeforeAll
    static void write() throws IOException {
        Libtorch.load();
        RANDOM.nextBytes(CONTENT);
        storage = FileStorage.at(folder);
        try (ObjectWriter writer = storage.create(FILE)) {
            ChecksummedPart written = new ChecksummedPart(writer);
            written.write(ByteBuffer.wrap(CONTENT));
            writer.finish();
            part = written.end(FILE);
        }
    }

    /** Sizes from a byte to more than a block; some bytes are left out. */
    private static List<Range> ascending() {
        int[] sizes = {1, 77, 4096, 256 << 10, (256 << 10) - 1, 300_001, BLOCK - 1, BLOCK, BLOCK + 4097};
        List<Range> ranges = new ArrayList<>();
        int at = RANDOM.nextInt(5000);
        while (at < BYTES) {
            int count = Math.min(sizes[RANDOM.nextInt(sizes.length)], BYTES - at);
            if (RANDOM.nextInt(4) > 0) {
                ranges.add(new Range(at, count));
            }
            at += count;
        }
        return ranges;
    }

    /** A reader with another size of pieces, as of S3. */
    private static final class PieceReader implements ObjectReader {
        private final ObjectReader real = storage.open(FILE);
        private final int pieceBytes;
        private long read;
        private int calls;

        PieceReader(int pieceBytes) throws IOException {
            this.pieceBytes = pieceBytes;
        }

        @Override
        public long size() throws IOException {
            return real.size();
        }

        @Override
        public void read(long position, ByteBuffer destination) throws IOException {
            read += destination.remaining();
            calls++;
            real.read(position, destination);
        }

        @Override
        public int pieceBytes() {
            return pieceBytes;
        }

        @Override
        public void close() throws IOException {
            real.close();
        }
    }

    private static void assertRead(List<Range> ranges) throws IOException {
        assertRead(ranges, 256 << 10);
        assertRead(ranges, 16 << 20);
    }

    private static void assertRead(List<Range> ranges, int pieceBytes) throws IOException {
        try (VerifiedPart reader = new VerifiedPart(part, new PieceReader(pieceBytes))) {
            List<byte[]> read = new ArrayList<>();
            for (Range range : ranges) {
                try (Tensor tensor =
                        torch.full(new long[] {range.count}, new Scalar(7), new TensorOptions(torch.ScalarType.Byte))) {
                    MemorySegment memory = TensorMemory.segment(tensor);
                    reader.read(range.from, memory, Device.CPU);
                    read.add(memory.toArray(ValueLayout.JAVA_BYTE));
                }
            }
            reader.finish();
            for (int i = 0; i < ranges.size(); i++) {
                Range range = ranges.get(i);
                assertThat(MemorySegment.ofArray(read.get(i))
                                .mismatch(MemorySegment.ofArray(CONTENT).asSlice(range.from, range.count)))
                        .as("%s", range)
                        .isEqualTo(-1);
            }
        }
    }

    @Test
    void piecesOfAnySizeAreRead() throws IOException {
        for (int turn = 0; turn < TURNS; turn++) {
            assertRead(ascending());
        }
        assertRead(List.of(new Range(0, BYTES)));
    }

    @Test
    void piecesInAnyOrderAreRead() throws IOException {
        for (int turn = 0; turn < TURNS; turn++) {
            List<Range> ranges = new ArrayList<>(ascending());
            ranges.addAll(ascending());
            ranges.sort(Comparator.comparingInt(range -> range.count * 31 % 1009));
            assertRead(ranges);
        }
    }

    /** A changed byte is found if and only if its block has a byte that is read. */
    @Test
    void aChangedByteOfAReadBlockIsFound() throws IOException {
        for (int turn = 0; turn < TURNS; turn++) {
            List<Range> ranges = ascending();
            TreeSet<Integer> blocks = new TreeSet<>();
            ranges.forEach(range -> {
                for (int block = range.from / BLOCK; block <= (range.from + range.count - 1) / BLOCK; block++) {
                    blocks.add(block);
                }
            });
            int at = RANDOM.nextInt(BYTES);
            change(at);
            if (blocks.contains(at / BLOCK)) {
                assertThatThrownBy(() -> assertRead(ranges))
                        .as("byte %d, %s", at, ranges)
                        .hasMessageContaining("part part is damaged: the bytes from " + at / BLOCK * BLOCK + " on");
            } else {
                assertRead(ranges);
            }
            change(at);
        }
    }

    private void change(int at) throws IOException {
        try (FileChannel file =
                FileChannel.open(folder.resolve(FILE), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            int _ = file.read(one, at);
            int _ = file.write(one.put(0, (byte) ~one.get(0)).flip(), at);
        }
    }

    /** Tensors that follow each other are read once, also if they share blocks. */
    @ParameterizedTest
    @ValueSource(ints = {100_000, 256 << 10, 3_000_000, BLOCK, 5_000_000})
    void eachByteIsReadOnce(int size) throws IOException {
        PieceReader counting = new PieceReader(256 << 10);
        try (VerifiedPart reader = new VerifiedPart(part, counting);
                Tensor tensor = torch.empty(size)) {
            MemorySegment memory = TensorMemory.segment(tensor);
            for (int at = 4096; at < BYTES; at += size) {
                reader.read(at, memory.asSlice(0, Math.min(size, BYTES - at)), Device.CPU);
            }
            reader.finish();
        }
        assertThat(counting.read).isEqualTo(BYTES);
    }

    /** Each request to S3 takes many milliseconds. */
    @Test
    void ofALargePieceABlockIsReadOnceForManySmallTensors() throws IOException {
        PieceReader counting = new PieceReader(16 << 20);
        try (VerifiedPart reader = new VerifiedPart(part, counting)) {
            for (int at = 5000; at + 200 <= BLOCK; at += 300) {
                reader.read(at, MemorySegment.ofArray(new byte[200]), Device.CPU);
            }
            reader.finish();
        }
        assertThat(counting.calls).isEqualTo(1);
    }

    @Test
    void piecesAreWrittenAtMultiplesOfTheirSize() throws IOException {
        List<Integer> sizes = new ArrayList<>();
        ChecksummedPart written = new ChecksummedPart(new ObjectWriter() {
            @Override
            public void write(ByteBuffer bytes) {
                sizes.add(bytes.remaining());
                bytes.position(bytes.limit());
            }

            @Override
            public void finish() {}

            @Override
            public void close() {}
        });
        written.write(ByteBuffer.wrap(CONTENT, 0, 4096));
        written.write(ByteBuffer.wrap(CONTENT, 4096, BLOCK + 5000));
        assertThat(sizes).containsExactly(4096, (1 << 20) - 4096, 1 << 20, 1 << 20, 1 << 20, 4096 + 5000);
    }

    @Test
    void aFileThatIsShortenedWhileItIsReadIsAnError() throws IOException {
        try (VerifiedPart reader = VerifiedPart.open(storage, "", part);
                FileChannel file = FileChannel.open(folder.resolve(FILE), StandardOpenOption.WRITE)) {
            reader.read(0, MemorySegment.ofArray(new byte[BLOCK]), Device.CPU);
            file.truncate(BLOCK + 1000);
            assertThatThrownBy(() -> reader.read(BLOCK, MemorySegment.ofArray(new byte[BLOCK]), Device.CPU))
                    .hasMessage("the file ends at byte " + (BLOCK + 1000)
                            + "; another process has shortened the file during the read");
            file.write(ByteBuffer.wrap(CONTENT, BLOCK + 1000, BYTES - BLOCK - 1000), BLOCK + 1000);
        }
    }
}
