package io.jrun.train.expert;

import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.autograd.AutogradFunction;
import io.jrun.train.autograd.FunctionContext;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.tensor.TensorCollectives;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** Sends rows to the ranks of an axis. The backward pass sends the gradients of the rows back. */
final class RowExchange implements AutogradFunction {
    private final TensorCollectives collectives;
    private final long[] outgoing;
    private final long[] incoming;

    private RowExchange(MeshAxis axis, long[] outgoing, long[] incoming) {
        this.collectives = new TensorCollectives(axis.group());
        this.outgoing = outgoing;
        this.incoming = incoming;
    }

    /**
     * The rows that all ranks have for this rank, in the order of the ranks. Collective.
     *
     * @param rows this rank's rows, in the order of the ranks that get them
     * @param outgoing rows for each rank
     * @param incoming rows from each rank
     */
    static Tensor apply(Tensor rows, MeshAxis axis, long[] outgoing, long[] incoming) {
        return AutogradBridge.instance()
                .apply(new RowExchange(axis, outgoing, incoming), List.of(rows))
                .getFirst();
    }

    @Override
    public List<Tensor> forward(FunctionContext context, List<Tensor> inputs) {
        return List.of(send(inputs.getFirst(), outgoing, incoming));
    }

    @Override
    public List<@Nullable Tensor> backward(FunctionContext context, List<@Nullable Tensor> gradients) {
        return Arrays.asList(send(Objects.requireNonNull(gradients.getFirst()), incoming, outgoing));
    }

    private Tensor send(Tensor rows, long[] to, long[] from) {
        long width = rows.size(1);
        Tensor arrived =
                torch.empty(new long[] {LongStream.of(from).sum(), width}, rows.options(), new MemoryFormatOptional());
        collectives.allToAllV(rows.contiguous(), times(to, width), arrived, times(from, width));
        return arrived;
    }

    private static long[] times(long[] rows, long width) {
        return LongStream.of(rows).map(count -> count * width).toArray();
    }
}
