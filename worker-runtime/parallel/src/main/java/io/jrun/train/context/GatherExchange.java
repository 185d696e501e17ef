package io.jrun.train.context;

import io.jrun.comm.ReduceOp;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.tensor.TensorCollectives;
import io.jrun.train.tensor.TensorMemory;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * One all-gather brings all keys and values; one reduce-scatter takes the gradients back (Llama 3, arXiv 2407.21783).
 */
final class GatherExchange implements KeyExchange {
    private final int ranks;
    private final int self;
    private final TensorCollectives collectives;

    GatherExchange(MeshAxis axis) {
        ranks = axis.size();
        self = axis.coordinate();
        collectives = new TensorCollectives(axis.group());
    }

    @Override
    public void forEach(Tensor own, BiConsumer<Integer, Tensor> use) {
        Tensor all = gather(own);
        for (int i = 0; i < ranks; i++) {
            int owner = (self + i) % ranks;
            use.accept(owner, all.select(0, owner));
        }
    }

    @Override
    public Tensor sumGradients(Tensor own, BiFunction<Integer, Tensor, Tensor> gradients) {
        Tensor all = gather(own);
        Tensor[] parts = new Tensor[ranks];
        for (int owner = 0; owner < ranks; owner++) {
            parts[owner] = gradients.apply(owner, all.select(0, owner));
        }
        Tensor sum = torch.empty_like(parts[0]);
        collectives.reduceScatter(torch.stack(new TensorVector(parts), 0), sum, ReduceOp.SUM);
        return sum;
    }

    private Tensor gather(Tensor own) {
        long[] sizes = TensorMemory.sizes(own);
        long[] all = new long[sizes.length + 1];
        all[0] = ranks;
        System.arraycopy(sizes, 0, all, 1, sizes.length);
        Tensor gathered = torch.empty(all, own.options(), new MemoryFormatOptional());
        collectives.allGather(own, gathered);
        return gathered;
    }
}
