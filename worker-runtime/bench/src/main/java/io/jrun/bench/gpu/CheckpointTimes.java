package io.jrun.bench.gpu;

import io.jrun.comm.Device;
import io.jrun.comm.Distributed;
import io.jrun.comm.World;
import io.jrun.comm.file.TemporaryFolder;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.PeerSnapshots;
import io.jrun.train.checkpoint.sharded.Retention;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.global.torch;

/**
 * Measures a checkpoint of a state in the memory of a GPU, beside a copy of the same bytes through pinned memory and one
 * file as of {@code dd}, in turn and in the same folder. The bits after the load must be equal. A time is no reason to
 * fail.
 */
public final class CheckpointTimes {
    private static final String MIB = "--mib=";
    private static final long DEFAULT_MIB = 2048;
    private static final int TURNS = 2;

    /** The measured operations. */
    private enum Part {
        PINNED_COPY,
        WRITE,
        SAVE,
        READ,
        COPY_BACK,
        LOAD,
        STALL,
        SNAPSHOT_BEGIN,
        SNAPSHOT_END
    }

    private interface Measured {
        void run() throws IOException;
    }

    private final Device device;
    private final Map<Part, Double> seconds = new EnumMap<>(Part.class);

    private CheckpointTimes(Device device) {
        this.device = device;
    }

    /** Runs the measurement. The arguments are {@code --json}, and {@code --mib=N} for a state of N MiB. */
    public static void main(String[] args) {
        List<String> words = Arrays.asList(args);
        long mib = words.stream()
                .filter(word -> word.startsWith(MIB))
                .map(word -> Long.parseLong(word.substring(MIB.length())))
                .findFirst()
                .orElse(DEFAULT_MIB);
        boolean hasFailed;
        try (World world = Distributed.init()) {
            CheckReport report = new CheckReport(world, words.contains("--json"));
            report.check("time-save-1b", () -> {
                GpuCheck.requireCudaBuild();
                return measure(world, Device.cuda(0), mib << 20, Path.of(System.getProperty("java.io.tmpdir")));
            });
            hasFailed = report.hasFailed();
        }
        if (hasFailed) {
            System.exit(1);
        }
    }

    /** Measures a state of this size on a device, with files in a folder. Returns the numbers as text. */
    static String measure(World world, Device device, long bytes, Path place) throws IOException {
        try (TemporaryFolder folder = TemporaryFolder.make(place, "gpu-check");
                CheckpointState state = new CheckpointState(device, bytes);
                CheckpointState loaded = new CheckpointState(device, bytes);
                PlainCopies plain = new PlainCopies(device, state.bytes());
                PeerSnapshots snapshots = new PeerSnapshots(1);
                CheckpointManager manager = CheckpointManager.alone(
                        folder.path().resolve("checkpoints").toString(), new Retention(1, 0))) {
            state.fill();
            CheckpointTimes times = new CheckpointTimes(device);
            Path file = folder.path().resolve("plain");
            for (int turn = 1; turn <= TURNS; turn++) {
                times.turn(turn, file, state, loaded, plain, manager);
                times.snapshot(world, turn, state, loaded, snapshots);
            }
            return times.text(state);
        }
    }

    private void turn(
            int turn,
            Path file,
            CheckpointState state,
            CheckpointState loaded,
            PlainCopies plain,
            CheckpointManager manager)
            throws IOException {
        long saved = 2L * turn;
        time(Part.PINNED_COPY, () -> plain.toHost(state.tensors()));
        time(Part.WRITE, () -> plain.write(file));
        time(Part.SAVE, () -> manager.save(saved, state.dictionary()));
        time(Part.READ, () -> plain.read(file));
        time(Part.COPY_BACK, () -> plain.toDevice(loaded.tensors()));
        Files.delete(file);
        loaded.tensors().forEach(tensor -> tensor.zero_());
        time(Part.LOAD, () -> manager.open(saved).load(loaded.dictionary()));
        state.requireEqual(loaded);
        time(Part.STALL, () -> manager.saveAsync(saved + 1, state.dictionary()));
        manager.await();
        loaded.tensors().forEach(tensor -> tensor.zero_());
        manager.open(saved + 1).load(loaded.dictionary());
        state.requireEqual(loaded);
    }

    /** Zeroing {@code loaded} is the work beside the copy. */
    private void snapshot(
            World world, int turn, CheckpointState state, CheckpointState loaded, PeerSnapshots snapshots) {
        synchronize();
        long begin = System.nanoTime();
        snapshots.begin(world, turn, state.dictionary());
        seconds.merge(Part.SNAPSHOT_BEGIN, (System.nanoTime() - begin) / 1e9, Math::min);
        loaded.tensors().forEach(tensor -> tensor.zero_());
        long end = System.nanoTime();
        snapshots.end();
        seconds.merge(Part.SNAPSHOT_END, (System.nanoTime() - end) / 1e9, Math::min);
        if (snapshots.recover(world, loaded.dictionary()).isEmpty()) {
            throw new IllegalStateException("the snapshot of turn " + turn + " is lost");
        }
        state.requireEqual(loaded);
    }

    /** Keeps the shortest time of all turns. The first turn takes the memory. */
    private void time(Part part, Measured measured) throws IOException {
        synchronize();
        long begin = System.nanoTime();
        measured.run();
        synchronize();
        seconds.merge(part, (System.nanoTime() - begin) / 1e9, Math::min);
    }

    private void synchronize() {
        if (!device.isCpu()) {
            torch.cuda_synchronize();
        }
    }

    private String text(CheckpointState state) {
        double gigabytes = state.bytes() / 1e9;
        double save = of(Part.SAVE);
        double load = of(Part.LOAD);
        double copyAndWrite = of(Part.PINNED_COPY) + of(Part.WRITE);
        double readAndCopy = of(Part.READ) + of(Part.COPY_BACK);
        return String.format(
                Locale.ROOT,
                "%.2f GB in %d tensors, equal bits after the loads, best of %d turns, one file and one thread each;"
                        + " save %.2f GB/s; pinned copy %.1f GB/s and dd %.2f GB/s: %.2f of their speed; load from the"
                        + " page cache %.2f GB/s; read %.2f GB/s and pinned copy %.1f GB/s: %.2f of their speed; stall of"
                        + " saveAsync %.0f ms, pinned copy %.0f ms: ratio %.2f; a snapshot for peers: begin %.0f ms, end"
                        + " %.0f ms",
                gigabytes,
                state.tensors().size(),
                TURNS,
                gigabytes / save,
                gigabytes / of(Part.PINNED_COPY),
                gigabytes / of(Part.WRITE),
                copyAndWrite / save,
                gigabytes / load,
                gigabytes / of(Part.READ),
                gigabytes / of(Part.COPY_BACK),
                readAndCopy / load,
                of(Part.STALL) * 1e3,
                of(Part.PINNED_COPY) * 1e3,
                of(Part.STALL) / of(Part.PINNED_COPY),
                of(Part.SNAPSHOT_BEGIN) * 1e3,
                of(Part.SNAPSHOT_END) * 1e3);
    }

    private double of(Part part) {
        return Objects.requireNonNull(seconds.get(part));
    }
}
