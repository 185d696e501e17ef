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
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

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

    /** The group of parameters that need no gradient: they do not change. */
    static final int FROZEN_GROUP = -1;

    private final Path folder;
    private final FlatUpdate update;
    private final int blocks;
    private final List<OffloadedUnit> units = new ArrayList<>();
    private final ExecutorService disk = Executors.newFixedThreadPool(
            2, Thread.ofPlatform().daemon().name("jrun-offload-", 0).factory());
    private double gradientFactor = 1;
    private final int ranks;
    private long steps;

    /**
     * An optimizer on the files in {@code folder}, which belongs to this rank alone. Collective: if a rank was killed
     * before it committed a step, all ranks go on from the step before. The folders of a job belong to its number of
     * ranks and its model.
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
        this.update = new FlatUpdate(rule, groups, schedule);
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
        long[] extremes = {steps, -steps};
        group.allReduce(MemorySegment.ofArray(extremes), DataType.I64, 2, ReduceOp.MIN);
        if (-extremes[1] - extremes[0] > 1) {
            throw new OffloadException("the folders of the ranks have offloaded states of steps from " + extremes[0]
                    + " to " + -extremes[1] + ", this rank's " + folder + " of step " + steps
                    + ". Use the number of ranks that wrote the folders, or empty folders.");
        }
        steps = extremes[0];
        ranks = group.size();
    }

    /** Steps made, those of earlier processes on the same files included. */
    public long steps() {
        return steps;
    }

    @Override
    public void takeOver(int number, Map<String, Tensor> shards, MemorySegment values) {
        long bytes = values.byteSize();
        Path file = folder.resolve("unit-" + number + "-of-" + ranks + "-ranks-" + bytes + "-bytes");
        if (steps > 0 && !Files.exists(file)) {
            throw new OffloadException(
                    "the offloaded states of step " + steps + " in " + folder + " lack " + file.getFileName()
                            + ": another number of ranks or another model wrote the folder. Use the same number of"
                            + " ranks and the same model, or an empty folder.");
        }
        OffloadedUnit unit = new OffloadedUnit(new UnitFile(file, blocks * bytes), bytes, blocks);
        shards.forEach(
                (name, shard) -> unit.add(shard, shard.requires_grad() ? update.group(name, shard) : FROZEN_GROUP));
        units.add(unit);
        if (steps == 0) {
            unit.begin(values);
        }
    }

    @Override
    public void readValues(int number, MemorySegment into) {
        units.get(number).readValues(steps, into);
    }

    @Override
    public void readGradients(int number, MemorySegment into) {
        units.get(number).readGradients(into);
    }

    @Override
    public void writeGradients(int number, MemorySegment from) {
        units.get(number).writeGradients(from);
    }

    @Override
    public void scaleGradients(double factor) {
        gradientFactor *= factor;
    }

    /** Drops the gradients that no step has used. */
    public void zeroGradients() {
        units.forEach(OffloadedUnit::dropGradients);
        gradientFactor = 1;
    }

    @Override
    public boolean hasGradients(int number) {
        return units.get(number).hasGradients();
    }

    /** Updates all units. Afterwards the files have the step as a whole. */
    public void step() {
        CompletableFuture<OffloadedUnit.Loaded> next = read(0);
        CompletableFuture<Void> written = CompletableFuture.completedFuture(null);
        for (int number = 0; number < units.size(); number++) {
            OffloadedUnit.Loaded loaded = join(next);
            if (number + 1 < units.size()) {
                next = read(number + 1);
            }
            if (units.get(number).hasGradients()) {
                update(loaded);
            }
            join(written);
            written = CompletableFuture.runAsync(() -> loaded.unit().store(loaded, steps + 1), disk);
        }
        join(written);
        commit();
    }

    private CompletableFuture<OffloadedUnit.Loaded> read(int number) {
        return CompletableFuture.supplyAsync(() -> units.get(number).load(steps), disk);
    }

    private void update(OffloadedUnit.Loaded loaded) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            if (gradientFactor < 1) {
                loaded.gradients().mul_(new Scalar(gradientFactor));
            }
            update.apply(loaded.unit().pieces(loaded), steps);
        }
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
        zeroGradients();
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
        units.forEach(OffloadedUnit::close);
    }
}
