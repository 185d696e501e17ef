package io.jrun.train.mesh;

import io.jrun.comm.ReduceOp;
import io.jrun.train.tensor.DeviceTensors;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * One rank's part of a tensor that is spread over a mesh: the one form in which models hand out parameters, and in which
 * optimizers, clips, averages, checks, first values and checkpoints take them. The tensor is replicated along all axes
 * that {@code placements} does not name. Dimensions and coordinates count from 0.
 *
 * @param name name of the parameter, unique in the model
 * @param globalShape the shape of the whole tensor
 * @param placements in the order of the division: a tensor is divided along the first axis, and each part is divided
 *     along the second axis. {@link Replicate} says that the ranks of the axis compute different gradients of equal
 *     values, which must be averaged
 * @param local the part that this rank holds: the global shape, but shorter along a sharded dimension
 */
public record ShardedTensor(String name, List<Long> globalShape, List<AxisPlacement> placements, Tensor local) {
    public ShardedTensor {
        globalShape = List.copyOf(globalShape);
        placements = List.copyOf(placements);
        for (AxisPlacement each : placements) {
            if (each.placement() instanceof Shard shard && shard.dim() >= globalShape.size()) {
                throw new IllegalArgumentException("tensor '" + name + "' of shape " + globalShape
                        + " cannot be sharded along dimension " + shard.dim());
            }
            if (each.placement() instanceof Shard shard && globalShape.get(shard.dim()) % shard.sections() != 0) {
                throw new IllegalArgumentException("tensor '" + name + "' of shape " + globalShape
                        + " cannot be sharded in " + shard.sections() + " sections along dimension " + shard.dim());
            }
        }
    }

    /** A tensor of a module, with the placements of {@link ParameterNotes}. */
    public static ShardedTensor of(String name, Tensor local) {
        return new ShardedTensor(name, ParameterNotes.globalShape(local), ParameterNotes.placements(local), local);
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
                    List.of(new AxisPlacement(axis, placement)),
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

    /** A part of this part. */
    public ShardedTensor dividedAgain(Shard shard, MeshAxis axis, Tensor part) {
        List<AxisPlacement> both = new ArrayList<>(placements);
        both.add(new AxisPlacement(axis, shard));
        return new ShardedTensor(name, globalShape, both, part);
    }

    /** This tensor on some ranks of a further axis, see {@link OnRanks}. */
    public ShardedTensor onRanks(OnRanks ranks, MeshAxis axis) {
        List<AxisPlacement> all = new ArrayList<>(placements);
        all.add(new AxisPlacement(axis, ranks));
        return new ShardedTensor(name, globalShape, all, local);
    }

    /** A tensor that is divided as this one, such as a state of an optimizer. */
    public ShardedTensor withLocal(Tensor newLocal) {
        return new ShardedTensor(name, globalShape, placements, newLocal);
    }

    /** Whether this rank has at least one element. */
    public boolean isHere() {
        return isHeld() && local.numel() > 0;
    }

    /** Whether this rank is one of the ranks of each {@link OnRanks} placement. */
    public boolean isHeld() {
        return placements.stream()
                .allMatch(each -> !(each.placement() instanceof OnRanks(List<Integer> coordinates))
                        || coordinates.contains(each.axis().coordinate()));
    }

    /** The axes along which the ranks hold different parts, in the order of the division. */
    public List<MeshAxis> divided() {
        return placements.stream()
                .filter(AxisPlacement::divides)
                .map(AxisPlacement::axis)
                .toList();
    }

    /**
     * The axes along which the ranks hold different parts, and the gradient of each part has the samples of all ranks.
     * Ranks along these axes are not among the ranks whose gradients are added.
     */
    public List<MeshAxis> routed() {
        return placements.stream()
                .filter(AxisPlacement::routes)
                .map(AxisPlacement::axis)
                .toList();
    }

    /** The axes along which the ranks hold equal parameters and compute different gradients. */
    public List<MeshAxis> averaged() {
        return placements.stream()
                .filter(each ->
                        each.placement() instanceof Replicate && each.axis().size() > 1)
                .map(AxisPlacement::axis)
                .toList();
    }

    /**
     * This rank's elements of the gradient: {@code .grad}, or the part that this rank keeps of the gradient, see
     * {@link GradientStore#elements}. Undefined if this rank has none.
     */
    public Tensor gradient() {
        return isHeld()
                ? ParameterNotes.gradients(local)
                        .map(store -> store.elements(local))
                        .orElseGet(local::mutable_grad)
                : new Tensor();
    }

    /** The number of elements of the whole tensor. */
    public long elements() {
        return globalShape.stream().reduce(1L, (a, b) -> a * b);
    }

    /**
     * The local part as boxes of the whole tensor: one box, or one for each section that has its part. A part without
     * elements is one box. The boxes are views of the part. Empty if other ranks hold the tensor.
     */
    public List<TensorBox> boxes() {
        return boxes(new TensorBox(Collections.nCopies(globalShape.size(), 0L), local));
    }

    /**
     * Some elements of the local part as boxes of the whole tensor. The boxes are views of {@code piece}.
     *
     * @param piece a box of the local part; its elements may be those of a tensor of the same shape
     */
    public List<TensorBox> boxes(TensorBox piece) {
        return isHeld() ? TensorBox.of(this, piece) : List.of();
    }

    /** A copy of the whole tensor. Collective on the axes of the placements. */
    public Tensor whole() {
        List<long[]> shapes = new ArrayList<>(List.of(shape()));
        for (AxisPlacement each : placements) {
            shapes.add(partShape(shapes.getLast(), each));
        }
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor tensor = isHeld() ? local.detach() : empty();
            for (int i = placements.size() - 1; i >= 0 && isHeld(); i--) {
                tensor = whole(tensor, shapes.get(i), placements.get(i));
            }
            for (AxisPlacement each : placements) {
                if (each.placement() instanceof OnRanks(List<Integer> coordinates)) {
                    new TensorCollectives(each.axis().group()).broadcast(tensor, coordinates.getFirst());
                }
            }
            return isHeld() && tensor.is_alias_of(local) ? tensor.clone() : tensor;
        }
    }

    private Tensor empty() {
        try (TensorOptions options = DeviceTensors.optionsLike(local, local.scalar_type());
                MemoryFormatOptional layout = new MemoryFormatOptional()) {
            return torch.empty(shape(), options, layout);
        }
    }

    private static Tensor whole(Tensor part, long[] shape, AxisPlacement each) {
        return switch (each.placement()) {
            case Replicate _, OnRanks _ -> part;
            case Partial(ReduceOp op) -> {
                Tensor reduced = part.clone();
                new TensorCollectives(each.axis().group()).allReduce(reduced, op);
                yield reduced;
            }
            case Shard shard -> gather(part, shape, shard, each.axis());
        };
    }

    private long[] shape() {
        return globalShape.stream().mapToLong(Long::longValue).toArray();
    }

    /** The shape of the part along one more axis. */
    private static long[] partShape(long[] shape, AxisPlacement each) {
        long[] part = shape.clone();
        if (each.placement() instanceof Shard shard) {
            part[shard.dim()] =
                    shard.sections() * range(shape, shard, each.axis()).length();
        }
        return part;
    }

    private static ShardRange range(long[] shape, Shard shard, MeshAxis axis) {
        return ShardRange.of(shape[shard.dim()] / shard.sections(), axis.size(), axis.coordinate());
    }

    /** Parts along another dimension than the first are exchanged with this dimension in front. */
    private static Tensor gather(Tensor part, long[] shape, Shard shard, MeshAxis axis) {
        int dim = shard.dim();
        long[] front = withFront(shape, dim);
        long rowElements = Arrays.stream(front, 1, front.length).reduce(1, (a, b) -> a * b);
        long[] counts = new long[axis.size()];
        for (int rank = 0; rank < counts.length; rank++) {
            counts[rank] = rows(shard, front[0], counts.length, rank) * rowElements;
        }
        Tensor gathered = torch.zeros(front, part.options());
        new TensorCollectives(axis.group()).allGatherV(part.transpose(0, dim).contiguous(), gathered, counts);
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
