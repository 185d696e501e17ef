package io.jrun.train.ddp;

import io.jrun.comm.Buffer;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * Gradients of one type that are reduced in one operation.
 *
 * @param parameters the numbers of the parameters of the gradients
 * @param buffer neighbouring slices of the gradient memory, the padding between them included
 * @param flat the same memory as a tensor of one dimension
 */
record Bucket(List<Integer> parameters, Buffer buffer, Tensor flat) {
    Bucket {
        parameters = List.copyOf(parameters);
    }
}
