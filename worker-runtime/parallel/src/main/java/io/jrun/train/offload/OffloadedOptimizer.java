package io.jrun.train.offload;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import io.jrun.comm.file.UserFile;
import io.jrun.train.fsdp.ShardOffload;
import io.jrun.train.fsdp.ShardTransfer;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.optim.LearningRateSchedule;
import io.jrun.train.optim.ParameterGroup;
import io.jrun.train.optim.ParameterOptimizer;
import io.jrun.train.optim.UpdateRule;
import io.jrun.train.storage.AtomicFile;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * An optimizer of fully sharded training whose parameters, gradients and states lie in files of this rank. A pass reads
 * the parameters of the next units while a unit computes, and writes gradients meanwhile. A step reads the states of a
 * unit while the unit before is updated and the one before that is written. A step has at most three units of this
 * rank in memory. A pass has the rows of two units and the gradients of two. The result has the bits that
 * {@code FlatOptimizer} gives in memory of the CPU.
 *
 * <p>Of parameters on a GPU the states lie in files too, and the CPU updates them. Values and gradients travel through
 * pinned memory, in the order of the default stream. A thread of files waits for the copy of gradients; the training
 * thread does not.
 *
 * <p>{@link #updateInNextPass} updates each unit beside the backward pass, as soon as its gradients are complete: the
 * CPU's AdamW of ZeRO-Offload (Ren et al., arXiv:2101.06840) beside the work of a GPU. The norm of all gradients is not
 * known then, so the gradients cannot be clipped.
 *
 * <p>A process that ends at any time leaves the states of the last whole step. A later object on the same folder goes
 * on from there: {@link #steps}.
 *
 * <p>Confined to the training thread. Parameters are of float32 or float64.
 */
public final class OffloadedOptimizer implements ShardOffload, ParameterOptimizer {
    private static final String COMMITTED = "committed-step";
    /** The file of {@link #COMMITTED} has one number. */
    private static final int MAX_COMMIT_BYTES = 64;

    /** The group of parameters that need no gradient: they do not change. */
    static final int FROZEN_GROUP = -1;

    private final Path folder;
    private final FlatUpdate update;
    private final int blocks;
    private final List<OffloadedUnit> units = new ArrayList<>();
    /** The identities of the rows of all parameters. */
    private final Set<Long> identities = new HashSet<>();

    private final FileThreads threads;
    private final HostMemory hostMemory;
    /** The units that the present pass updates, by number. The result of an update is the write of the states. */
    private final SequencedMap<Integer, FileTask<FileTask<OffloadedUnit>>> updates = new LinkedHashMap<>();

    private boolean updatesInPass;
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
        this.threads = new FileThreads(group.options().timeout());
        this.hostMemory = new HostMemory(group.options().timeout());
        this.update = new FlatUpdate(rule, groups, schedule);
        this.blocks = 1 + rule.stateNames().size();
        try {
            OutputFile.makeFolder(folder);
            Path committed = folder.resolve(COMMITTED);
            steps = Files.exists(committed, LinkOption.NOFOLLOW_LINKS)
                    ? Long.parseLong(UserFile.text(committed, MAX_COMMIT_BYTES).strip())
                    : 0;
        } catch (IOException | NumberFormatException e) {
            throw new OffloadException(
                    "cannot use the folder of offloaded states " + folder + ": " + FileError.reason(e, folder), e);
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

    @Override
    public long version() {
        return steps;
    }

    /** Steps made, those of earlier processes on the same files included. */
    @Override
    public long steps() {
        return steps;
    }

    @Override
    public void takeOver(int number, String name, Map<String, Tensor> shards, Tensor values) {
        torch.ScalarType type = typeOf(shards);
        long bytes = values.nbytes();
        Path file = folder.resolve("unit-" + number + "-of-" + ranks + "-ranks-" + bytes + "-bytes");
        if (steps > 0 && !Files.exists(file)) {
            throw new OffloadException(
                    "the offloaded states of step " + steps + " in " + folder + " lack " + file.getFileName()
                            + ": another number of ranks, another model or another type of parameters wrote the"
                            + " folder. Use the same ones, or an empty folder.");
        }
        OffloadedUnit unit = new OffloadedUnit(name, new UnitFile(file, blocks * bytes), bytes, blocks, type);
        shards.forEach((shardName, shard) ->
                unit.add(shard, shard.requires_grad() ? update.group(shardName, shard) : FROZEN_GROUP));
        units.add(unit);
        shards.values().forEach(shard -> identities.add(TensorMemory.identity(shard)));
        if (steps == 0) {
            try (Tensor onHost = DeviceWaits.onHost(values)) {
                unit.begin(onHost);
            }
        }
    }

    /** The states have no master copies of parameters of fewer bits. */
    private static torch.ScalarType typeOf(Map<String, Tensor> shards) {
        Tensor first = shards.values().iterator().next();
        torch.ScalarType type = first.scalar_type().intern();
        if (first.element_size() < Float.BYTES) {
            throw new OffloadException("the parameters " + shards.keySet() + " are of " + type
                    + "; offloaded parameters are of float32 or float64. Convert the module with to(...).");
        }
        return type;
    }

    @Override
    public ShardTransfer readValues(int number, Tensor into) {
        OffloadedUnit unit = units.get(number);
        long version = steps;
        HostElements elements = hostMemory.of(into);
        ShardTransfer read = threads.read(unit, "the read of parameters", () -> unit.readValues(version, elements));
        return () -> {
            long ended = read.await();
            if (steps != version) { // a step has changed the values
                elements.release();
                return readValues(number, into).await();
            }
            elements.copyToDevice();
            return ended;
        };
    }

    /**
     * Updates each unit in the next backward pass, when its gradients are complete. The pass must be the last one before
     * {@link #step}, which then updates the other units only. The parameters keep their values until the step. {@link
     * #zeroGradients} in place of the step drops the updates, and throws the failure of one of them.
     *
     * @throws IllegalStateException if gradients of earlier passes have been clipped or scaled
     */
    public void updateInNextPass() {
        if (gradientFactor != 1) {
            throw new IllegalStateException("the gradients are clipped or scaled by " + gradientFactor
                    + " already. Call updateInNextPass() before the last backward pass of a step, and clip nothing.");
        }
        updatesInPass = true;
    }

    @Override
    public ShardTransfer readGradients(int number, Tensor into) {
        OffloadedUnit unit = units.get(number);
        requireNotUpdated(number);
        HostElements elements = hostMemory.of(into);
        ShardTransfer read = threads.read(unit, "the read of gradients", () -> unit.readGradients(elements));
        return () -> {
            long ended = read.await();
            elements.copyToDevice();
            return ended;
        };
    }

    @Override
    public ShardTransfer writeGradients(int number, Tensor from) {
        OffloadedUnit unit = units.get(number);
        requireNotUpdated(number);
        HostElements elements = hostMemory.copyOf(from);
        ShardTransfer transfer = updatesInPass
                ? beginUpdate(number, elements)
                : threads.write(
                        unit, "the write of gradients", elements::isCopied, () -> unit.writeGradients(elements));
        return () -> {
            long ended = transfer.await();
            elements.release();
            return ended;
        };
    }

    /**
     * Begins to update a unit. Its states are written while the next unit is updated: at most three units of this rank are
     * in memory.
     */
    private FileTask<FileTask<OffloadedUnit>> beginUpdate(int number, HostElements gradients) {
        OffloadedUnit unit = units.get(number);
        long version = steps;
        FileTask<FileTask<OffloadedUnit>> before =
                updates.isEmpty() ? null : updates.lastEntry().getValue();
        FileTask<Tensor> states = threads.read(unit, "the read of states", () -> unit.loadStates(version));
        FileTask<FileTask<OffloadedUnit>> task = threads.update(unit, gradients::isCopied, () -> {
            OffloadedUnit.Loaded loaded = unit.with(states.join(), gradients);
            update(loaded, version);
            if (before != null) {
                before.join().join();
            }
            return beginStore(loaded, version);
        });
        updates.put(number, task);
        return task;
    }

    private void requireNotUpdated(int number) {
        if (updates.containsKey(number)) {
            throw new IllegalStateException("another pass adds to the gradients of " + units.get(number)
                    + ", which the pass after updateInNextPass() has updated already. Call updateInNextPass() before the"
                    + " last backward pass of a step, and step() after this pass.");
        }
    }

    @Override
    public void scaleGradients(double factor) {
        if (updatesInPass) {
            throw new IllegalStateException("the gradients are clipped or scaled after updateInNextPass(), but the pass"
                    + " updates units before all gradients are known. Clip nothing, or leave out updateInNextPass().");
        }
        gradientFactor *= factor;
    }

    /** Drops the gradients that no step has used, and the updates of the last pass. */
    @Override
    public void zeroGradients() {
        ParameterNotes.dropUnreduced(identities);
        dropGradients();
    }

    private void dropGradients() {
        try {
            awaitUpdates(); // a later update writes the same place of the file
        } finally {
            updates.clear();
            updatesInPass = false;
            units.forEach(OffloadedUnit::dropGradients);
            gradientFactor = 1;
        }
    }

    @Override
    public void dropGradients(int number) {
        try {
            awaitUpdates();
        } finally {
            if (updates.remove(number) != null && updates.isEmpty()) {
                updatesInPass = false;
            }
            units.get(number).dropGradients();
            if (units.stream().noneMatch(OffloadedUnit::hasGradients)) {
                gradientFactor = 1;
            }
        }
    }

    @Override
    public boolean hasGradients(int number) {
        return units.get(number).hasGradients();
    }

    /** Updates all units, but those of {@link #updateInNextPass}. Afterwards the files have the step as a whole. */
    @Override
    public void step() {
        List<Integer> left = IntStream.range(0, units.size())
                .filter(number -> !updates.containsKey(number))
                .boxed()
                .toList();
        FileTask<OffloadedUnit.Loaded> next = left.isEmpty() ? null : read(left.getFirst());
        FileTask<OffloadedUnit> written = null;
        for (int i = 0; next != null; i++) {
            OffloadedUnit.Loaded loaded = next.join();
            next = i + 1 < left.size() ? read(left.get(i + 1)) : null;
            if (units.get(left.get(i)).hasGradients()) {
                scale(loaded.gradients());
                update(loaded, steps);
            }
            if (written != null) {
                written.join();
            }
            written = beginStore(loaded, steps);
        }
        if (written != null) {
            written.join();
        }
        awaitUpdates();
        commit();
        ParameterNotes.noteUpdate(identities);
    }

    private void scale(Tensor gradients) {
        if (gradientFactor < 1) {
            try (PointerScope _ = new PointerScope();
                    NoGradGuard _ = new NoGradGuard()) {
                gradients.mul_(new Scalar(gradientFactor));
            }
        }
    }

    private void awaitUpdates() {
        updates.values().forEach(update -> update.join().join());
    }

    private FileTask<OffloadedUnit.Loaded> read(int number) {
        OffloadedUnit unit = units.get(number);
        long version = steps;
        return threads.read(unit, "the read of states", () -> unit.load(version));
    }

    private void update(OffloadedUnit.Loaded loaded, long stepsBefore) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            update.apply(loaded.unit().pieces(loaded), stepsBefore);
        }
    }

    private FileTask<OffloadedUnit> beginStore(OffloadedUnit.Loaded loaded, long stepsBefore) {
        return threads.write(
                loaded.unit(),
                "the write of states",
                () -> true,
                () -> loaded.unit().store(loaded, stepsBefore + 1));
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
            throw new OffloadException(
                    "cannot commit step " + (steps + 1) + " in " + folder + ": " + FileError.reason(e, folder), e);
        }
        steps++;
        dropGradients();
    }

    /** Closes the files. The states stay there. */
    @Override
    public void close() {
        try {
            threads.close();
        } finally {
            units.forEach(OffloadedUnit::close);
            hostMemory.close();
        }
    }
}
