package io.jrun.bench;

import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.checkpoint.sharded.StateEntry;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** The state of one rank, and the reference measurements for its checkpoints: dd, and copies of as many bytes. */
final class CheckpointFiles implements AutoCloseable {
    private static final int TENSORS = 16;
    private static final int ROW_ELEMENTS = 1024;

    private final Path file;
    private final int rank;
    private final long megabytes;
    private final long rows;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment source;
    private final MemorySegment target;

    /** @param bytes of this rank's state */
    CheckpointFiles(Path folder, int rank, long bytes) throws IOException {
        this.rank = rank;
        this.rows = Math.max(1, bytes / TENSORS / ROW_ELEMENTS / Float.BYTES);
        this.megabytes = Math.max(1, bytes >> 20);
        Files.createDirectories(folder);
        this.file = folder.resolve("dd-" + rank);
        source = arena.allocate(bytes, 64).fill((byte) 1);
        target = arena.allocate(bytes, 64).fill((byte) 2);
    }

    /** Parts of {@value #TENSORS} tensors, sharded along the first dimension. */
    StateDict state(int ranks) {
        StateDict state = new StateDict();
        for (int i = 0; i < TENSORS; i++) {
            Tensor part = TensorMemory.own(
                    torch.rand(new long[] {rows, ROW_ELEMENTS}, new TensorOptions(torch.ScalarType.Float)));
            state.put(new StateEntry(
                    "layer" + i, List.of(rows * ranks, (long) ROW_ELEMENTS), List.of(rows * rank, 0L), part));
        }
        return state;
    }

    /** Each rank writes as many bytes as its part of a checkpoint has, and fsyncs. */
    void dd() throws IOException {
        Process process = new ProcessBuilder(
                        "dd",
                        "if=/dev/zero",
                        "of=" + file,
                        "bs=4M",
                        "count=" + Math.max(1, megabytes / 4),
                        "conv=fsync")
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            if (process.waitFor() != 0) {
                throw new IOException("dd to " + file + " has failed");
            }
        } catch (InterruptedException e) {
            process.destroy();
            throw new IOException("interrupted while dd ran", e);
        }
    }

    /** Maps the file of {@link #dd} and copies its bytes. */
    void copyMapped() throws IOException {
        try (Arena mapping = Arena.ofConfined();
                FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            MemorySegment mapped = channel.map(MapMode.READ_ONLY, 0, channel.size(), mapping);
            MemorySegment.copy(mapped, 0, target, 0, Math.min(mapped.byteSize(), target.byteSize()));
        }
    }

    /** Copies as many bytes as the state has. */
    void copy() {
        target.copyFrom(source);
    }

    /** The folder of the checkpoints. */
    Path checkpoints() {
        return file.resolveSibling("checkpoints");
    }

    /** Removes all files of the measurement. The manager of the checkpoints is closed before. */
    @Override
    public void close() throws IOException {
        arena.close();
        Files.deleteIfExists(file);
        if (rank == 0 && Files.exists(checkpoints())) {
            try (Stream<Path> tree = Files.walk(checkpoints())) {
                for (Path each : tree.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(each);
                }
            }
        }
    }
}
