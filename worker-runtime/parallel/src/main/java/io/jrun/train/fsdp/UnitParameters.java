package io.jrun.train.fsdp;

import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ParameterCopies;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a unit: whole, in memory that is free most of the time, and the rows that this rank keeps. The
 * module's tensors stay the same objects and have the type in which the unit computes. Their memory is the whole memory
 * while the unit is gathered. At other times libtorch throws an exception when an operation reads them.
 */
final class UnitParameters {
    private final List<String> names = new ArrayList<>();
    private final List<Tensor> modules = new ArrayList<>();
    private final List<long[]> shapes;
    private final List<Tensor> wholeViews = new ArrayList<>();
    private final List<Tensor> missing = new ArrayList<>();
    private final List<Tensor> shards = new ArrayList<>();
    /** The numbers of the parameters that need a gradient. A later change is an error of the next step. */
    private final int[] trained;

    /** {@link #versions} when the shards were made. */
    private final long[] versions;
    /** The versions of the module's tensors after the last gather. Empty while the unit is not whole. */
    private long[] wholeVersions = {};

    private final PaddedMemory whole;
    private final ModuleGradients moduleGradients;
    private final ShardGradients gradients;
    private final torch.ScalarType type;
    private final @Nullable OffloadedShards offloaded;

    /**
     * Keeps {@code shard}'s rows of the parameters and frees the rest, one parameter after the other.
     *
     * @param layout of the parameters in their order
     * @param memory for the whole parameters, on the device of the parameters
     * @param own for what this rank keeps, on the same device
     * @param offload null if the shards stay in memory
     */
    UnitParameters(
            Map<String, Tensor> parameters,
            ShardLayout layout,
            int shard,
            @Nullable DataType computeType,
            @Nullable DataType reduceType,
            UnitMemory memory,
            UnitMemory own,
            @Nullable UnitOffload offload) {
        shapes = shapes(parameters);
        torch.ScalarType stored = commonType(parameters);
        type = computeType == null ? stored : TensorTypes.scalarType(computeType);
        whole = new PaddedMemory(shapes, type, memory);
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            Tensor nothing = UnreadableTensor.of(
                    own.device(),
                    type,
                    "the unit of the parameters " + parameters.keySet()
                            + " is not gathered. Its parameters can be read while"
                            + " the unit computes inside a step, try (Step step = fsdp.step()) { ... }, until an update in"
                            + " the step, and by wholeParameters(). Open a step after each update.");
            parameters.forEach((name, tensor) -> {
                int index = modules.size();
                ShardRange range = layout.rows(index, shard);
                Tensor part = tensor.detach().narrow(0, range.offset(), range.length());
                Tensor rows = TensorMemory.empty(own.device(), stored, TensorMemory.sizes(part));
                rows.copy_(part);
                rows.set_requires_grad(tensor.requires_grad());
                names.add(name);
                modules.add(TensorMemory.own(tensor));
                wholeViews.add(TensorMemory.own(whole(index)));
                missing.add(TensorMemory.own(nothing.expand(shapes.get(index))));
                tensor.set_data(missing.get(index));
                shards.add(TensorMemory.own(rows));
            });
            // Files of gradients have the layout of the values.
            gradients = new ShardGradients(
                    shards,
                    shards.stream()
                            .map(rows ->
                                    rows.requires_grad() || offload != null ? TensorMemory.sizes(rows) : new long[] {0})
                            .toList(),
                    stored,
                    own);
            versions = versions();
            trained = IntStream.range(0, shards.size())
                    .filter(i -> shards.get(i).requires_grad())
                    .toArray();
            moduleGradients = new ModuleGradients(
                    names, modules, shards, trained, reduceType == null ? type : TensorTypes.scalarType(reduceType));
            ParameterNotes.setUnreduced(shards, moduleGradients);
            offloaded =
                    offload == null ? null : OffloadedShards.takeOver(offload, names, shards, gradients.memory(), own);
        }
    }

    /** Notes that the rows are parts of the parameters. */
    void notePlaces(MeshAxis axis) {
        for (int i = 0; i < shards.size(); i++) {
            Tensor rows = shards.get(i);
            ParameterNotes.setPlaced(
                    ShardedTensor.of(names.get(i), modules.get(i)).dividedAgain(new Shard(0), axis, rows), rows);
        }
    }

    /** Notes that this unit has whole copies of the rows. */
    void noteCopies(ParameterCopies copies) {
        ParameterNotes.setCopies(shards, copies);
    }

    private static List<long[]> shapes(Map<String, Tensor> parameters) {
        List<long[]> shapes = new ArrayList<>();
        parameters.forEach((name, tensor) -> {
            long[] shape = TensorMemory.sizes(tensor);
            if (shape.length == 0) {
                throw new IllegalArgumentException("parameter '" + name + "' has no dimension, so it has no rows to"
                        + " share. Register a tensor of shape [1] instead.");
            }
            shapes.add(shape);
        });
        return List.copyOf(shapes);
    }

    /**
     * The device of the parameters.
     *
     * @throws IllegalArgumentException if they are on different devices
     */
    static Device device(Map<String, Tensor> parameters) {
        Device device = TensorMemory.device(parameters.values().iterator().next());
        parameters.forEach((name, tensor) -> {
            if (!TensorMemory.device(tensor).equals(device)) {
                throw new IllegalArgumentException("parameter '" + name + "' is on the device "
                        + TensorMemory.device(tensor) + ", and other parameters of its unit are on " + device
                        + ". Build the model on one device.");
            }
        });
        return device;
    }

    static ShardLayout layout(Map<String, Tensor> parameters, int ranks) {
        return new ShardLayout(shapes(parameters), ranks);
    }

    private static torch.ScalarType commonType(Map<String, Tensor> parameters) {
        List<torch.ScalarType> types = parameters.values().stream()
                .map(tensor -> tensor.scalar_type().intern())
                .distinct()
                .toList();
        if (types.size() != 1
                || TensorTypes.of(parameters.values().iterator().next())
                        .filter(DataType::isFloat)
                        .isEmpty()) {
            throw new IllegalArgumentException("the parameters " + parameters.keySet() + " have the types " + types
                    + "; a unit has one floating point type. Convert the module with to(...).");
        }
        return types.getFirst();
    }

    int count() {
        return modules.size();
    }

    /** The parameters that need a gradient. */
    int[] trained() {
        return trained.clone();
    }

    String name(int index) {
        return names.get(index);
    }

    /** The module's own tensor. */
    Tensor module(int index) {
        return modules.get(index);
    }

    /** The shape of the whole parameter. */
    long[] shape(int index) {
        return shapes.get(index).clone();
    }

    List<long[]> shapes() {
        return shapes;
    }

    /** A whole parameter, in the caller's {@code PointerScope}. Its values are there while the unit is whole. */
    Tensor whole(int index) {
        return whole.view(index, shapes.get(index));
    }

    /** Gives the module's tensors the memory of the whole parameters: the unit has been gathered. */
    void attachWhole() {
        for (int i = 0; i < modules.size(); i++) {
            modules.get(i).set_data(wholeViews.get(i));
        }
        wholeVersions = modules.stream().mapToLong(Tensor::_version).toArray();
    }

    /**
     * Checks that the program has not changed the whole parameters, which are freed and not written to the rows.
     *
     * @throws IllegalStateException if an operation has changed one in place
     */
    void requireWholeUnchanged(String unit) {
        for (int i = 0; i < wholeVersions.length; i++) {
            if (modules.get(i)._version() != wholeVersions[i]) {
                wholeVersions = new long[0];
                throw new IllegalStateException("the program has changed parameter '" + names.get(i) + "' of unit '"
                        + unit + "' in place while the unit was gathered, for example by max_norm of an embedding. The"
                        + " change would be lost. Change parameters outside of steps by fsdp.parameters(), and leave"
                        + " max_norm out.");
            }
        }
    }

    /** Makes a read of the module's tensors an error: the memory of the whole parameters is free. */
    void detachWhole() {
        for (int i = 0; i < modules.size(); i++) {
            modules.get(i).set_data(missing.get(i));
        }
        wholeVersions = new long[0];
    }

    /** The rows that this rank keeps: a leaf for the optimizer. */
    Tensor shard(int index) {
        return shards.get(index);
    }

    PaddedMemory whole() {
        return whole;
    }

    /** The gradients of the shards. */
    ShardGradients gradients() {
        return gradients;
    }

    /** The gradients of the module's tensors. */
    ModuleGradients moduleGradients() {
        return moduleGradients;
    }

    /** Drops the gradients of those shards whose identities are given. Offloaded gradients stay. */
    void dropGradients(Set<Long> identities) {
        if (offloaded == null) {
            gradients.drop(identities);
        }
    }

    /**
     * Checks that the program has dropped all gradients of this unit or none, if the offload keeps them. Changes nothing.
     *
     * @throws IllegalStateException if the program has dropped some of them
     */
    void requireDroppedTogether() {
        if (offloaded == null || !offloaded.hasGradients()) {
            return;
        }
        int dropped = moduleGradients.dropped().length;
        if (dropped > 0 && dropped < trained.length) {
            throw new IllegalStateException("the gradients of some of the parameters " + names + " were dropped."
                    + " The offload keeps the gradients of a unit together. Drop all of them, by"
                    + " optimizer.zeroGradients() or model.zero_grad(true).");
        }
    }

    /**
     * Drops the gradients of the shards whose module tensors have lost theirs, by {@code zero_grad(true)} of the module,
     * and frees memory that has no gradient. Follows {@link #requireDroppedTogether}.
     */
    void freeDroppedGradients() {
        Set<Long> dropped = moduleGradients.takeDropped();
        if (offloaded == null) {
            if (!dropped.isEmpty()) {
                gradients.drop(dropped);
            }
            gradients.freeUnused();
        } else if (!dropped.isEmpty() && offloaded.hasGradients()) {
            offloaded.dropGradients();
        }
    }

    /** Numbers that change with the values of the shards: libtorch's numbers of the writes, or that of the offload. */
    long[] versions() {
        if (offloaded != null) {
            return new long[] {offloaded.version()}; // a read writes the shards too
        }
        return shards.stream().mapToLong(Tensor::_version).toArray();
    }

    /** Whether the program may have given the shards other values than those of the module. */
    boolean hasNewValues() {
        return offloaded != null || !Arrays.equals(versions, versions());
    }

    /** Tells libtorch that the module's tensors get the values of the shards. */
    void noteNewValues() {
        modules.forEach(TensorMemory::noteWrite);
    }

    /** The type in which the unit computes. */
    torch.ScalarType type() {
        return type;
    }

    DataType dataType() {
        return TensorTypes.of(modules.getFirst()).orElseThrow();
    }

    /** The shards outside of memory; empty if the shards stay in memory. */
    Optional<OffloadedShards> offloaded() {
        return Optional.ofNullable(offloaded);
    }
}
