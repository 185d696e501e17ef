package io.jrun.train.offload;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.train.fsdp.ShardOffload;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * An optimizer of fully sharded training whose parameters, gradients and states lie in files of this rank. A step reads
 * the states of a unit while the unit before is updated and the one before that is written. Memory has at most three
 * units of this rank. The result has the bits that {@code FlatOptimizer} gives in memory.
 *
 * <p>A process that ends at any time leaves the states of the last whole step. A later object on the same folder goes
 * on from there: {@link #steps}.
 *
 * <p>Confined to the training thread. Parameters are of float32.
 */
public final class OffloadedOptimizer implements ShardOffload, AutoCloseable {
    private static final String COMMITTED = "committed-step";
    private static final long ALIGNMENT_BYTES = 64;

    private final Path folder;
    private final FlatUpdate update;
    private final LearningRateSchedule schedule;
    private final int blocks;
    private final List<Unit> units = new ArrayList<>();
    private final ExecutorService disk = Executors.newFixedThreadPool(
            2, Thread.ofPlatform().daemon().name("jrun-offload-", 0).factory());
    private final AtomicLong bytesRead = new AtomicLong();
    private final AtomicLong bytesWritten = new AtomicLong();
    private long steps;

    /** One unit's place. The group of each shard and where the shard ends, in elements. */
    private static final class Unit {
        private final UnitFile file;
        private final long bytes;
        private final List<Integer> groups = new ArrayList<>();
        private final List<Long> ends = new ArrayList<>();
        private boolean hasGradients;

        Unit(UnitFile file, long bytes) {
            this.file = file;
            this.bytes = bytes;
        }
    }

    /**
     * An optimizer on the files in {@code folder}, which belongs to this rank alone. Collective: if a rank was killed
     * before it committed a step, all ranks go on from the step before.
     *
     * @param group the ranks that share the model
     * @throws OffloadException if the folder cannot be used
     */
    public OffloadedOptimizer(
            Path folder,
            ProcessGroup group,
            UpdateRule rule,
            List<ParameterGroup> groups,
            LearningRateSchedule schedule) {
        this.folder = folder;
        this.update = new FlatUpdate(rule, groups);
        this.schedule = schedule;
        this.blocks = 1 + rule.stateNames().size();
        try {
            Files.createDirectories(folder);
            Path committed = folder.resolve(COMMITTED);
            steps = Files.exists(committed)
                    ? Long.parseLong(Files.readString(committed).strip())
                    : 0;
        } catch (IOException | NumberFormatException e) {
            throw new OffloadException("cannot use the folder of offloaded states " + folder + ": " + e, e);
        }
        long[] least = {steps};
        group.allReduce(MemorySegment.ofArray(least), DataType.I64, 1, ReduceOp.MIN);
        steps = least[0];
    }

    /** Steps made, those of earlier processes on the same files included. */
    public long steps() {
        return steps;
    }

    /** Bytes read from files so far. */
    public long bytesRead() {
        return bytesRead.get();
    }

    /** Bytes written to files so far. */
    public long bytesWritten() {
        return bytesWritten.get();
    }

    @Override
    public void takeOver(int number, Map<String, Tensor> shards, MemorySegment values) {
        long bytes = values.byteSize();
        Unit unit = new Unit(
                new UnitFile(folder.resolve("unit-" + number), blocks * bytes, bytesRead, bytesWritten), bytes);
        long[] end = {0};
        shards.forEach((name, shard) -> {
            long lines = Math.ceilDiv(shard.numel() * shard.element_size(), ALIGNMENT_BYTES);
            end[0] += lines * ALIGNMENT_BYTES / shard.element_size();
            unit.groups.add(update.group(name, shard));
            unit.ends.add(end[0]);
        });
        units.add(unit);
        if (steps == 0) {
            unit.file.write(unit.file.version(0), values);
            try (Tensor zeros = FlatUpdate.zeros((blocks - 1) * bytes / Float.BYTES, torch.ScalarType.Float)) {
                unit.file.write(unit.file.version(0) + bytes, TensorMemory.segment(zeros));
            }
        }
    }

    @Override
    public void readValues(int number, MemorySegment into) {
        Unit unit = units.get(number);
        unit.file.read(unit.file.version(steps), into);
    }

    @Override
    public void readGradients(int number, MemorySegment into) {
        Unit unit = units.get(number);
        unit.file.read(unit.file.gradients(), into);
    }

    @Override
    public void writeGradients(int number, MemorySegment from) {
        Unit unit = units.get(number);
        unit.file.write(unit.file.gradients(), from);
        unit.hasGradients = true;
    }

    @Override
    public boolean hasGradients(int number) {
        return units.get(number).hasGradients;
    }

    /** Values, states and gradients of a unit in memory. */
    private record Loaded(Unit unit, Tensor states, Tensor gradients) {}

    /** Updates all units. Afterwards the files have the step as a whole. */
    public void step() {
        CompletableFuture<Loaded> next = read(0);
        CompletableFuture<Void> written = CompletableFuture.completedFuture(null);
        for (int number = 0; number < units.size(); number++) {
            Loaded loaded = join(next);
            if (number + 1 < units.size()) {
                next = read(number + 1);
            }
            update(loaded);
            join(written);
            written = CompletableFuture.runAsync(() -> write(loaded), disk);
        }
        join(written);
        commit();
    }

    private CompletableFuture<Loaded> read(int number) {
        return CompletableFuture.supplyAsync(
                () -> {
                    Unit unit = units.get(number);
                    Tensor states = FlatUpdate.zeros(blocks * unit.bytes / Float.BYTES, torch.ScalarType.Float);
                    Tensor gradients = FlatUpdate.zeros(unit.bytes / Float.BYTES, torch.ScalarType.Float);
                    unit.file.read(unit.file.version(steps), TensorMemory.segment(states));
                    if (unit.hasGradients) {
                        unit.file.read(unit.file.gradients(), TensorMemory.segment(gradients));
                    }
                    return new Loaded(unit, states, gradients);
                },
                disk);
    }

    private void update(Loaded loaded) {
        Unit unit = loaded.unit();
        if (!unit.hasGradients) {
            return;
        }
        long elements = unit.bytes / Float.BYTES;
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            List<FlatUpdate.Piece> pieces = new ArrayList<>();
            long begin = 0;
            for (int i = 0; i < unit.ends.size(); i++) {
                boolean endsGroup =
                        i + 1 == unit.ends.size() || !unit.groups.get(i + 1).equals(unit.groups.get(i));
                long end = unit.ends.get(i);
                if (endsGroup && end > begin) {
                    pieces.add(piece(loaded, elements, begin, end, unit.groups.get(i)));
                }
                begin = endsGroup ? end : begin;
            }
            update.apply(pieces, steps, schedule.at(steps));
        }
    }

    private FlatUpdate.Piece piece(Loaded loaded, long elements, long begin, long end, int group) {
        List<Tensor> states = new ArrayList<>();
        for (int block = 1; block < blocks; block++) {
            states.add(loaded.states().narrow(0, block * elements + begin, end - begin));
        }
        return new FlatUpdate.Piece(
                loaded.states().narrow(0, begin, end - begin),
                loaded.gradients().narrow(0, begin, end - begin),
                states,
                group);
    }

    private void write(Loaded loaded) {
        UnitFile file = loaded.unit().file;
        file.write(file.version(steps + 1), TensorMemory.segment(loaded.states()));
        file.force();
        loaded.states().close();
        loaded.gradients().close();
    }

    private void commit() {
        try {
            ByteBuffer text = StandardCharsets.UTF_8.encode(Long.toString(steps + 1));
            AtomicFile.write(folder.resolve(COMMITTED), channel -> {
                while (text.hasRemaining()) {
                    channel.write(text);
                }
            });
        } catch (IOException e) {
            throw new OffloadException("cannot commit step " + (steps + 1) + " in " + folder + ": " + e, e);
        }
        steps++;
        units.forEach(unit -> unit.hasGradients = false);
    }

    private static <T> T join(CompletableFuture<T> future) {
        try {
            return future.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    /** Closes the files. The states stay there. */
    @Override
    public void close() {
        disk.close();
        units.forEach(unit -> unit.file.close());
    }
}
