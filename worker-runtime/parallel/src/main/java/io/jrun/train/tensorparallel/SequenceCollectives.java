package io.jrun.train.tensorparallel;

import io.jrun.comm.ReduceOp;
import io.jrun.comm.Work;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.mesh.ShardRange;
import io.jrun.train.tensor.DeviceWaits;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * Collectives over the tensor parallel ranks. Sequences lie in dimension 1 of tensors [B, S, ...], and the parts of the
 * ranks follow each other in rank order. No method changes its argument.
 */
final class SequenceCollectives {
    private final MeshAxis axis;
    private final TensorCollectives collectives;

    SequenceCollectives(MeshAxis axis) {
        this.axis = axis;
        this.collectives = new TensorCollectives(axis.group());
    }

    /** A collective under way. */
    record Pending(Work work, Tensor memory) {
        /** The result, for all later work. On a GPU the host does not wait. */
        Tensor result() {
            DeviceWaits.order(work, TensorMemory.device(memory));
            return memory;
        }
    }

    Tensor allReduce(Tensor x) {
        Tensor sum = x.contiguous().clone();
        collectives.allReduce(sum, ReduceOp.SUM);
        return sum;
    }

    /** Replaces the elements of a tensor that the caller alone uses. */
    Tensor allReduceInPlace(Tensor x, ReduceOp op) {
        Tensor sum = x.contiguous();
        collectives.allReduce(sum, op);
        return sum;
    }

    /** Begins to replace the elements of a tensor that the caller alone uses. */
    Pending beginAllReduce(Tensor x) {
        Tensor sum = x.contiguous();
        return new Pending(collectives.allReduceAsync(sum, ReduceOp.SUM), sum);
    }

    /** [B, s, ...] of each rank as [B, S, ...]. */
    Tensor gather(Tensor part) {
        return endGather(beginGather(part));
    }

    Pending beginGather(Tensor part) {
        long[] sizes = TensorMemory.sizes(part);
        long[] all = new long[sizes.length + 1];
        all[0] = axis.size();
        System.arraycopy(sizes, 0, all, 1, sizes.length);
        Tensor gathered = torch.empty(all, part.options(), new MemoryFormatOptional());
        return new Pending(collectives.allGatherAsync(part.contiguous(), gathered), gathered);
    }

    Tensor endGather(Pending gather) {
        return gather.result().transpose(0, 1).flatten(1, 2);
    }

    /** [..., v] of each rank as [..., V], by the rule of {@link ShardRange}. */
    Tensor gatherLast(Tensor part, long size) {
        long rows = part.numel() / part.size(-1);
        long[] counts = new long[axis.size()];
        for (int rank = 0; rank < counts.length; rank++) {
            counts[rank] = rows * ShardRange.of(size, axis.size(), rank).length();
        }
        Tensor gathered = torch.empty(new long[] {rows * size}, part.options(), new MemoryFormatOptional());
        collectives.allGatherV(part.contiguous(), gathered, counts);
        TensorVector parts = new TensorVector();
        long offset = 0;
        for (long count : counts) {
            parts.push_back(gathered.narrow(0, offset, count).view(rows, count / rows));
            offset += count;
        }
        long[] sizes = TensorMemory.sizes(part);
        sizes[sizes.length - 1] = size;
        return torch.cat(parts, 1).view(sizes);
    }

    /** This rank's [..., v] of [..., V], by the rule of {@link ShardRange}. */
    Tensor sliceLast(Tensor whole) {
        ShardRange range = ShardRange.of(whole.size(-1), axis.size(), axis.coordinate());
        return whole.narrow(-1, range.offset(), range.length());
    }

    /** The sum over the ranks of [B, S, ...], of which each rank gets its [B, s, ...]. */
    Tensor reduceScatter(Tensor whole) {
        return beginReduceScatter(whole).result();
    }

    Pending beginReduceScatter(Tensor whole) {
        long[] sizes = TensorMemory.sizes(whole);
        sizes[1] = partLength(whole.size(1));
        Tensor byRank = torch.stack(whole.chunk(axis.size(), 1), 0);
        Tensor part = torch.empty(sizes, whole.options(), new MemoryFormatOptional());
        return new Pending(collectives.reduceScatterAsync(byRank, part, ReduceOp.SUM), part);
    }

    /** This rank's part of a dimension. */
    Tensor slice(Tensor whole, int dim) {
        long length = partLength(whole.size(dim));
        return whole.narrow(dim, axis.coordinate() * length, length);
    }

    private long partLength(long length) {
        if (length % axis.size() != 0) {
            throw new IllegalArgumentException("a sequence of " + length + " tokens cannot be shared by " + axis.size()
                    + " tensor parallel ranks in equal parts. Choose a length that is a multiple of " + axis.size()
                    + ", or leave sequence parallelism off.");
        }
        return length / axis.size();
    }
}
