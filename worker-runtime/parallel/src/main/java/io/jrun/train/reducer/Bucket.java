package io.jrun.train.reducer;

import io.jrun.comm.ProcessGroup;
import java.util.List;

/**
 * Gradients of one type that are reduced in one operation.
 *
 * @param parameters the numbers of the parameters of the gradients
 * @param group the ranks that add these gradients
 * @param sequence the number of the sequence whose buckets are reduced one after the other
 */
record Bucket(List<Integer> parameters, ProcessGroup group, int sequence) {
    Bucket {
        parameters = List.copyOf(parameters);
    }
}
