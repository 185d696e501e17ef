package io.jrun.train.optim;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** The arithmetic of an optimizer's step. The kernels are libtorch's fused ones. */
public sealed interface UpdateRule permits FusedAdamW, FusedSgd {
    /** Names of the state tensors of each parameter, as torch's optimizers name them. */
    List<String> stateNames();

    /**
     * Updates parameters in place.
     *
     * @param parameters one tensor for each range of parameters, all of one type
     * @param gradients of equal sizes and type
     * @param states for each of {@link #stateNames()} one tensor for each range
     * @param stepsBefore steps that these ranges have already made
     */
    void apply(
            List<Tensor> parameters,
            List<Tensor> gradients,
            List<List<Tensor>> states,
            long stepsBefore,
            double learningRate,
            double weightDecay);
}
