package io.jrun.train.zero;

import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.mesh.TensorBox;
import io.jrun.train.optim.FlatUpdate;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;

/** The parameters of a bucket in one piece of memory, and this rank's part of the optimizer's states. */
final class BucketStates implements AutoCloseable {
    private final BucketPartition partition;
    private final ProcessGroup group;
    private final int rank;
    private final List<String> stateNames;
    private final Tensor values;
    private final List<Tensor> states;
    private final List<Integer> groups = new ArrayList<>();

    /**
     * Moves the parameters of a bucket into one piece of memory. The tensors stay the same objects.
     *
     * @param group the ranks that share the bucket
     */
    BucketStates(Map<String, Tensor> named, ProcessGroup group, FlatUpdate update) {
        this.partition = new BucketPartition(named, group.size());
        this.group = group;
        this.rank = group.groupRank();
        stateNames = update.stateNames();
        Device device = TensorMemory.device(partition.parameter(0));
        values = FlatUpdate.zeros(device, partition.elements(), partition.type());
        for (int i = 0; i < partition.parameters(); i++) {
            Tensor parameter = partition.parameter(i);
            Tensor view = partition.view(values, i);
            view.copy_(parameter);
            parameter.set_data(view);
            groups.add(update.group(partition.name(i), parameter));
        }
        long part = partition.part(rank).length();
        states = stateNames.stream()
                .map(_ -> FlatUpdate.zeros(device, part, partition.type()))
                .toList();
    }

    BucketPartition partition() {
        return partition;
    }

    /** This rank's part, cut where the parameter group changes. */
    List<FlatUpdate.Piece> pieces(Tensor means) {
        Tensor own = ownPart();
        return partition.groupRanges(rank, groups).stream()
                .map(range -> new FlatUpdate.Piece(
                        own.narrow(0, range.offset(), range.length()),
                        means.narrow(0, range.offset(), range.length()),
                        states.stream()
                                .map(state -> state.narrow(0, range.offset(), range.length()))
                                .toList(),
                        range.group()))
                .toList();
    }

    private Tensor ownPart() {
        ShardRange part = partition.part(rank);
        return values.narrow(0, part.offset(), part.length());
    }

    /**
     * Gathers the parts of all ranks, and tells libtorch that the parameters have changed: a backward pass that needs
     * the values of before is then an error.
     */
    void gather() {
        Tensor part = ownPart();
        Tensor own = TensorMemory.empty(TensorMemory.device(values), partition.type(), part.numel());
        own.copy_(part);
        new TensorCollectives(group).allGatherV(own, values, partition.partElements());
        for (int i = 0; i < partition.parameters(); i++) {
            TensorMemory.noteWrite(partition.parameter(i));
        }
    }

    /** Adds this rank's parts of tensors with the names and shapes of the parameters to a checkpoint. */
    void putParts(StateDict into, String prefix, Map<String, Tensor> tensors, ShardedState parameters) {
        for (int i = 0; i < partition.parameters(); i++) {
            String name = partition.name(i);
            Tensor whole = Objects.requireNonNull(tensors.get(name), name);
            for (TensorBox box : partition.boxesOf(i, rank, whole)) {
                parameters.putPiece(into, prefix + name, name, box);
            }
        }
    }

    /** Adds this rank's part of the states to a checkpoint. */
    void putStates(StateDict into, String prefix, ShardedState parameters) {
        for (int i = 0; i < partition.parameters(); i++) {
            for (int state = 0; state < states.size(); state++) {
                String name = prefix + partition.name(i) + "." + stateNames.get(state);
                for (TensorBox box : partition.boxes(i, rank, states.get(state))) {
                    parameters.putPiece(into, name, partition.name(i), box);
                }
            }
        }
    }

    /** Frees the states. The parameters keep their values and their memory. */
    @Override
    public void close() {
        states.forEach(Tensor::close);
    }
}
