package io.jrun.train.ddp.hook;

import io.jrun.comm.DataType;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.AllReduceHook;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;

/**
 * Sends float32 gradients as 16-bit numbers: half the bytes. Stands for torch's {@code fp16_compress_hook},
 * {@code bf16_compress_hook} and their wrappers. In host memory the sums are folded in float32, see
 * {@link ProcessGroup#compressed}, which also gives the bound of the error. On a device the gradients are divided, rounded
 * to 16 bits and summed in this type, as in torch. Buckets of other element types are sent as they are.
 *
 * @param wire BF16 or F16
 * @param inner the hook whose float32 reductions are compressed
 */
public record CompressionHook(DataType wire, CommunicationHook inner) implements CommunicationHook {
    public CompressionHook {
        if (wire != DataType.BF16 && wire != DataType.F16) {
            throw new IllegalArgumentException("gradients can be sent as BF16 or F16, not as " + wire);
        }
    }

    /** The mean by one all-reduce for each bucket, compressed. */
    public static CompressionHook to(DataType wire) {
        return new CompressionHook(wire, new AllReduceHook());
    }

    @Override
    public BucketReduction reduce(GradientBucket bucket, ProcessGroup group) {
        boolean isCompressed = bucket.buffer().type() == DataType.F32;
        if (isCompressed && !bucket.buffer().device().isCpu()) {
            return new NarrowBucket(bucket, wire).reduce(inner, group);
        }
        return inner.reduce(bucket, isCompressed ? group.compressed(wire) : group);
    }

    @Override
    public String name() {
        return "CompressionHook(" + wire + ", " + inner.name() + ")";
    }
}
