package io.jrun.train.reducer;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;

/**
 * Parameters whose buckets are reduced one after the other.
 *
 * @param parts parameters by name. A bucket has parameters of one part
 * @param isLate whether backward passes do not complete the gradients: several layers or stages use a parameter
 */
record ReductionSequence(List<Map<String, Tensor>> parts, boolean isLate) {
    ReductionSequence {
        List<Map<String, Tensor>> copies = new ArrayList<>();
        parts.forEach(part -> copies.add(Collections.unmodifiableMap(new LinkedHashMap<>(part))));
        parts = List.copyOf(copies);
    }
}
