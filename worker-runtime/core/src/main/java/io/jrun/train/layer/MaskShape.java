package io.jrun.train.layer;

import java.util.function.Function;
import org.bytedeco.pytorch.Tensor;

/** Makes the mask of an input of a {@link DropoutLayer}. */
@FunctionalInterface
public interface MaskShape {
    /** A mask of the sizes of the input. */
    MaskShape SAME = (sizes, draw) -> draw.apply(sizes);

    /**
     * A mask for an input.
     *
     * @param sizes of the input
     * @param draw makes a mask of the given sizes from the next random numbers
     */
    Tensor mask(long[] sizes, Function<long[], Tensor> draw);
}
