package io.jrun.trainer;

import io.jrun.train.checkpoint.sharded.ShardedState;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.tensor.TensorMemory;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/** The parameters of a model as whole tensors. */
final class WholeParameters {
    private WholeParameters() {}

    /**
     * Brings the whole parameters together, one after the other. Collective on the axes of the state.
     *
     * @param keeps whether this rank keeps the parameters; other ranks hold one whole parameter at a time
     * @return the parameters by name, which the caller frees; empty if this rank keeps none
     */
    static Map<String, Tensor> gather(ShardedState state, boolean keeps) {
        Map<String, Tensor> whole = new LinkedHashMap<>();
        state.parameters().forEach((name, part) -> keep(whole, name, whole(part), keeps));
        return whole;
    }

    private static Tensor whole(ShardedTensor part) {
        try (PointerScope _ = new PointerScope();
                NoGradGuard _ = new NoGradGuard()) {
            boolean isWhole = part.placements().isEmpty();
            return TensorMemory.own(isWhole ? part.local().detach() : part.whole());
        }
    }

    private static void keep(Map<String, Tensor> whole, String name, Tensor tensor, boolean keeps) {
        if (keeps) {
            whole.put(name, tensor);
        } else {
            tensor.close();
        }
    }
}
