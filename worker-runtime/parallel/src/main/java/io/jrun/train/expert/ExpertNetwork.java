package io.jrun.train.expert;

import io.jrun.comm.Device;
import io.jrun.train.layer.CompositeModule;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** A feed-forward network of two layers for each expert of this rank. */
public final class ExpertNetwork extends CompositeModule {
    private final @Nullable ExpertLinear gate;
    private final ExpertLinear up;
    private final ExpertLinear down;

    /** The function between the two layers. */
    public enum Kind {
        /** GELU by tanh, with biases: GPT-2. */
        GELU,
        /** silu(gate x) * (up x), without biases: Llama, Mixtral. */
        SWIGLU
    }

    ExpertNetwork(Kind kind, long experts, long width, long inner, Device device) {
        boolean isGated = kind == Kind.SWIGLU;
        gate = isGated ? add("gate_proj", new ExpertLinear(experts, width, inner, false, device)) : null;
        up = add("up_proj", new ExpertLinear(experts, width, inner, !isGated, device));
        down = add("down_proj", new ExpertLinear(experts, inner, width, !isGated, device));
    }

    /** The results of rows, which are in the order of the experts. */
    Tensor forward(Tensor rows, long[] counts) {
        List<Tensor> inputs = ExpertLinear.list(rows.split_with_sizes(counts, 0));
        List<Tensor> raised = up.forward(inputs);
        List<Tensor> gates = gate == null ? List.of() : gate.forward(inputs);
        List<Tensor> inner = IntStream.range(0, counts.length)
                .mapToObj(expert -> gate == null
                        ? torch.gelu(raised.get(expert), "tanh")
                        : torch.silu(gates.get(expert)).mul(raised.get(expert)))
                .toList();
        return torch.cat(new TensorVector(down.forward(inner).toArray(Tensor[]::new)), 0);
    }
}
