package io.jrun.train.ddp;

import io.jrun.comm.Buffer;
import java.util.List;

/**
 * Gradients of one type that are reduced in one operation.
 *
 * @param parameters whose gradients they are
 * @param buffer neighbouring slices of the gradient memory, the padding between them included
 */
record Bucket(List<Integer> parameters, Buffer buffer) {
    Bucket {
        parameters = List.copyOf(parameters);
    }
}
