package io.jrun.train.fsdp;

import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.UnreadableTensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The gradients of the shards of one unit. Their memory is allocated when the first gradient is added, and is free while
 * no shard has its gradient there. A read of a gradient whose memory is free throws an exception of libtorch. Confined to
 * the training thread.
 */
final class ShardGradients {
    private final List<Tensor> shards;
    private final long[] identities;
    private final torch.ScalarType type;
    private final PaddedMemory memory;
    /** No views: {@code zero_grad()} may detach a gradient, and torch forbids that for views. */
    private final List<Tensor> gradients = new ArrayList<>();
    /** What {@link #gradients} read while the memory is allocated, and while it is free. */
    private final List<Tensor> places = new ArrayList<>();

    private final List<Tensor> missing = new ArrayList<>();

    /**
     * Free memory for gradients. Made inside of a {@code PointerScope}.
     *
     * @param shapes those of the gradients; no elements for a shard that needs no gradient
     */
    ShardGradients(List<Tensor> shards, List<long[]> shapes, torch.ScalarType type, UnitMemory source) {
        this.shards = List.copyOf(shards);
        this.type = type;
        identities = shards.stream().mapToLong(TensorMemory::identity).toArray();
        memory = new PaddedMemory(shapes, type, source);
        Tensor dropped = UnreadableTensor.of(
                source.device(),
                type,
                "the gradient was dropped and its memory is free. Read the gradients of"
                        + " FullyShardedDataParallel.parameters() before zeroGradients().");
        for (int i = 0; i < shapes.size(); i++) {
            places.add(TensorMemory.own(memory.view(i, shapes.get(i))));
            missing.add(TensorMemory.own(dropped.expand(shapes.get(i))));
            Tensor gradient = TensorMemory.own(TensorMemory.empty(source.device(), type, new long[] {0}));
            gradient.set_data(missing.get(i));
            gradients.add(gradient);
        }
    }

    PaddedMemory memory() {
        return memory;
    }

    /** Adds to the gradient of a shard, or sets it if there is none. */
    void add(int index, Tensor rows) {
        Tensor present = shards.get(index).mutable_grad();
        if (present.defined()) {
            present.add_(rows);
            return;
        }
        allocate();
        Tensor gradient = gradients.get(index);
        if (rows.scalar_type().intern() == type) {
            TensorMemory.copy(rows, gradient);
        } else {
            gradient.copy_(rows);
        }
        present.put(gradient);
    }

    private void allocate() {
        if (!memory.isAllocated()) {
            memory.allocate();
            memory.clear(); // an optimizer reads the padding too
            replace(places);
        }
    }

    private void replace(List<Tensor> values) {
        for (int i = 0; i < values.size(); i++) {
            gradients.get(i).set_data(values.get(i));
        }
    }

    /** Drops the gradients of those shards whose identities are given. */
    void drop(Set<Long> given) {
        boolean isUsed = false;
        for (int i = 0; i < identities.length; i++) {
            if (given.contains(identities[i])) {
                shards.get(i).mutable_grad().reset();
            } else {
                isUsed = isUsed || isHere(i);
            }
        }
        freeUnless(isUsed);
    }

    /** Frees the memory if no shard has its gradient there: all gradients were dropped, or replaced by other tensors. */
    void freeUnused() {
        if (memory.isAllocated()) {
            freeUnless(IntStream.range(0, identities.length).anyMatch(this::isHere));
        }
    }

    private void freeUnless(boolean isUsed) {
        if (memory.isAllocated() && !isUsed) {
            replace(missing);
            memory.free();
        }
    }

    /** Whether a shard has its gradient in the memory. */
    private boolean isHere(int index) {
        Tensor present = shards.get(index).mutable_grad();
        return present.defined() && TensorMemory.identity(present) == TensorMemory.identity(gradients.get(index));
    }
}
