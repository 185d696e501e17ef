package io.jrun.train.context;

import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.bytedeco.pytorch.Tensor;

/** Brings the keys and values of all ranks to each rank. All methods are collective. */
interface KeyExchange {
    /**
     * Brings the keys and values of each rank, this rank's first.
     *
     * @param own keys and values of this rank, contiguous; of equal shape on all ranks
     * @param use gets a rank and the rank's tensor; runs while the next tensor travels
     */
    void forEach(Tensor own, BiConsumer<Integer, Tensor> use);

    /**
     * Brings the keys and values of each rank and takes gradients back to their ranks.
     *
     * @param gradients makes a new contiguous tensor, this rank's part of the gradient of a rank's tensor
     * @return the sum of all ranks' gradients of {@code own}
     */
    Tensor sumGradients(Tensor own, BiFunction<Integer, Tensor, Tensor> gradients);
}
