package io.jrun.train.ddp.hook;

import io.jrun.comm.Buffer;
import io.jrun.comm.DataType;
import io.jrun.comm.Device;
import io.jrun.comm.ProcessGroup;
import io.jrun.train.reducer.BucketReduction;
import io.jrun.train.reducer.CommunicationHook;
import io.jrun.train.reducer.GradientBucket;
import io.jrun.train.tensor.TensorMemory;
import io.jrun.train.tensor.TensorTypes;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** A copy of a float32 bucket on a device in 16 bits, from the begin of its reduction to the end. */
final class NarrowBucket {
    private final GradientBucket wide;
    private final Tensor flat;
    private final List<Tensor> gradients = new ArrayList<>();
    private final GradientBucket narrow;

    /** The gradients divided by the divisor of the bucket: a sum of float16 over many ranks could overflow. */
    NarrowBucket(GradientBucket wide, DataType type) {
        this.wide = wide;
        Device device = wide.buffer().device();
        long elements = wide.flat().numel();
        List<Long> offsets = wide.offsets();
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            flat = TensorMemory.own(TensorMemory.empty(device, TensorTypes.scalarType(type), elements));
            flat.copy_(wide.flat().mul(new Scalar(1.0 / wide.divisor())));
            for (int i = 0; i < offsets.size(); i++) {
                Tensor gradient = wide.gradients().get(i);
                gradients.add(TensorMemory.own(
                        flat.narrow(0, offsets.get(i), gradient.numel()).view(TensorMemory.sizes(gradient))));
            }
            narrow = new GradientBucket(
                    wide.index(),
                    wide.isLast(),
                    new Buffer(TensorMemory.elements(flat), type, elements, device),
                    flat,
                    wide.names(),
                    wide.parameters(),
                    gradients,
                    1);
        }
    }

    /** Begins the sum over the ranks by another hook. The end of the reduction widens the result and frees the copy. */
    BucketReduction reduce(CommunicationHook inner, ProcessGroup group) {
        BucketReduction sum = inner.reduce(narrow, group);
        return () -> {
            sum.finish();
            try (NoGradGuard _ = new NoGradGuard()) {
                wide.flat().copy_(flat);
            }
            gradients.forEach(Tensor::close);
            flat.close();
        };
    }
}
