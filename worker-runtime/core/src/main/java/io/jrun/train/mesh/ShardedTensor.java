package io.jrun.train.mesh;

import io.jrun.comm.ReduceOp;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * One rank's part of a tensor that is spread over a mesh. The tensor is replicated along all axes that
 * {@code placements} does not name. Dimensions and coordinates count from 0.
 *
 * @param name name of the parameter, unique in the model
 * @param globalShape the shape of the whole tensor
 * @param placements placement by the name of the axis. The methods take axes in order: a tensor is divided along the
 *     first axis, and each part is divided along the second axis
 * @param local the part that this rank holds: the global shape, but shorter along a sharded dimension
 */
public record ShardedTensor(
        String name, List<Long> globalShape, Map<String, TensorPlacement> placements, Tensor local) {
    public ShardedTensor {
        globalShape = List.copyOf(globalShape);
        placements = Map.copyOf(placements);
        for (TensorPlacement placement : placements.values()) {
            if (placement instanceof Shard shard && shard.dim() >= globalShape.size()) {
                throw new IllegalArgumentException("tensor '" + name + "' of shape " + globalShape
                        + " cannot be sharded along dimension " + shard.dim());
            }
            if (placement instanceof Shard shard && globalShape.get(shard.dim()) % shard.sections() != 0) {
                throw new IllegalArgumentException("tensor '" + name + "' of shape " + globalShape
                        + " cannot be sharded in " + shard.sections() + " sections along dimension " + shard.dim());
            }
        }
    }

    /**
     * A copy of this rank's part of a tensor that every rank has completely. For a partial placement the part is the
     * whole tensor.
     */
    public static ShardedTensor distribute(String name, Tensor whole, TensorPlacement placement, MeshAxis axis) {
        List<Long> shape = Arrays.stream(TensorMemory.sizes(whole)).boxed().toList();
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor part = whole.detach();
            if (placement instanceof Shard shard) {
                part = part(part, shard, axis);
            }
            return new ShardedTensor(
                    name,
                    shape,
                    Map.of(axis.name(), placement),
                    TensorMemory.own(part.contiguous().clone()));
        }
    }

    /** This rank's part of a whole tensor; a view if the shard has one section. */
    static Tensor part(Tensor whole, Shard shard, MeshAxis axis) {
        long section = whole.size(shard.dim()) / shard.sections();
        ShardRange range = ShardRange.of(section, axis.size(), axis.coordinate());
        Tensor[] parts = new Tensor[shard.sections()];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = whole.narrow(shard.dim(), i * section + range.offset(), range.length());
        }
        return parts.length == 1 ? parts[0] : torch.cat(new TensorVector(parts), shard.dim());
    }

    /**
     * A part of this part.
     *
     * @param part its whole tensor is this local part
     */
    public ShardedTensor dividedAgain(ShardedTensor part) {
        Map<String, TensorPlacement> both = new HashMap<>(placements);
        both.putAll(part.placements());
        return new ShardedTensor(name, globalShape, both, part.local());
    }

    /** The placement along an axis. */
    public TensorPlacement placement(String axis) {
        return placements.getOrDefault(axis, new Replicate());
    }

    /**
     * The local part as boxes of the whole tensor: one box, or one for each section that has its part. A part without
     * elements is one box. The boxes are views of the part.
     */
    public List<TensorBox> boxes(MeshAxis... axes) {
        return boxes(new TensorBox(Collections.nCopies(globalShape.size(), 0L), local), axes);
    }

    /**
     * Some elements of the local part as boxes of the whole tensor. The boxes are views of {@code piece}.
     *
     * @param piece a box of the local part; its elements may be those of a tensor of the same shape
     */
    public List<TensorBox> boxes(TensorBox piece, MeshAxis... axes) {
        return TensorBox.of(this, piece, List.of(axes));
    }

    /** A copy of the whole tensor. Collective on the axes. */
    public Tensor whole(MeshAxis... axes) {
        List<long[]> shapes = new ArrayList<>(List.of(shape()));
        for (MeshAxis axis : axes) {
            shapes.add(partShape(shapes.getLast(), axis));
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor tensor = local.detach();
            for (int i = axes.length - 1; i >= 0; i--) {
                tensor = whole(tensor, shapes.get(i), axes[i]);
            }
            return tensor.is_alias_of(local) ? tensor.clone() : tensor;
        }
    }

    private Tensor whole(Tensor part, long[] shape, MeshAxis axis) {
        TensorCollectives collectives = new TensorCollectives(axis.group());
        return switch (placement(axis.name())) {
            case Replicate() -> part;
            case Partial(ReduceOp op) -> {
                Tensor reduced = part.clone();
                collectives.allReduce(reduced, op);
                yield reduced;
            }
            case Shard shard -> gather(part, shape, shard, axis, collectives);
        };
    }

    private long[] shape() {
        return globalShape.stream().mapToLong(Long::longValue).toArray();
    }

    /** The shape of the part along one more axis. */
    private long[] partShape(long[] shape, MeshAxis axis) {
        long[] part = shape.clone();
        if (placement(axis.name()) instanceof Shard shard) {
            part[shard.dim()] = shard.sections() * range(shape, shard, axis).length();
        }
        return part;
    }

    private static ShardRange range(long[] shape, Shard shard, MeshAxis axis) {
        return ShardRange.of(shape[shard.dim()] / shard.sections(), axis.size(), axis.coordinate());
    }

    /** Parts along another dimension than the first are exchanged with this dimension in front. */
    private static Tensor gather(Tensor part, long[] shape, Shard shard, MeshAxis axis, TensorCollectives collectives) {
        int dim = shard.dim();
        long[] front = withFront(shape, dim);
        long rowElements = Arrays.stream(front, 1, front.length).reduce(1, (a, b) -> a * b);
        long[] counts = new long[axis.size()];
        for (int rank = 0; rank < counts.length; rank++) {
            counts[rank] = rows(shard, front[0], counts.length, rank) * rowElements;
        }
        Tensor gathered = torch.zeros(front, part.options());
        collectives.allGatherV(part.transpose(0, dim).contiguous(), gathered, counts);
        return inGlobalOrder(gathered, shard, axis.size()).transpose(0, dim).contiguous();
    }

    private static long rows(Shard shard, long size, int ranks, int rank) {
        return shard.sections()
                * ShardRange.of(size / shard.sections(), ranks, rank).length();
    }

    /** Rows in the order rank, section as rows in the order section, rank. */
    private static Tensor inGlobalOrder(Tensor gathered, Shard shard, int ranks) {
        int sections = shard.sections();
        if (sections == 1) {
            return gathered;
        }
        Tensor[] ordered = new Tensor[sections * ranks];
        long at = 0;
        for (int rank = 0; rank < ranks; rank++) {
            long length = rows(shard, gathered.size(0), ranks, rank) / sections;
            for (int section = 0; section < sections; section++) {
                ordered[section * ranks + rank] = gathered.narrow(0, at, length);
                at += length;
            }
        }
        return torch.cat(new TensorVector(ordered), 0);
    }

    private static long[] withFront(long[] shape, int dim) {
        long[] front = shape.clone();
        front[0] = shape[dim];
        front[dim] = shape[0];
        return front;
    }
}
