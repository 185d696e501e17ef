package io.jrun.train.reducer;

import io.jrun.train.tensor.TensorMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * The memory of stage 1 of ZeRO. After a reduction this rank's parts hold means, and the other elements hold nothing of
 * use. A later pass must not add to them. If the program has not dropped the gradients, the means of the parts are
 * therefore kept aside from the beginning of the next pass to the end of its reduction, and all gradients of that pass
 * begin with zeros. Means of several reductions add up.
 */
final class StageOneMemory extends GradientMemory {
    private final int parameters;
    /** Empty, or for each bucket the means of this rank's part. */
    private final List<Tensor> aside = new ArrayList<>();

    private boolean hasMeans;

    StageOneMemory(List<Parameter> parameters, List<Bucket> buckets) {
        super(parameters, buckets);
        this.parameters = parameters.size();
    }

    @Override
    public void passBegins() {
        if (takeMeans()) {
            try (NoGradGuard _ = new NoGradGuard()) {
                IntStream.range(0, parameters).filter(i -> !isHome(i)).forEach(this::clear);
                for (int bucket = 0; bucket < buckets().size(); bucket++) {
                    try (Tensor means = part(bucket).clone()) {
                        aside.add(TensorMemory.own(means));
                    }
                }
            }
            zero();
        }
    }

    /** Whether gradients hold means of a reduction. The caller keeps the means. */
    private boolean takeMeans() {
        boolean areKept = hasMeans && IntStream.range(0, parameters).anyMatch(this::isHome);
        hasMeans = false;
        return areKept;
    }

    @Override
    public void requireBegun() {
        if (takeMeans()) {
            throw new ReductionException("a plain backward() adds to gradients that were reduced: with "
                    + GradientPlacement.SHARDED_STATES + " these are means in the parts of this rank only. Call"
                    + " step.backward(loss), or drop the gradients before the pass with optimizer.zeroGradients() or"
                    + " zero_grad(true). zero_grad(false) does not drop them.");
        }
    }

    @Override
    public void reductionEnds() {
        try (NoGradGuard _ = new NoGradGuard()) {
            for (int bucket = 0; bucket < aside.size(); bucket++) {
                part(bucket).add_(aside.get(bucket));
            }
        }
        free();
        hasMeans = true;
    }

    @Override
    public void clearAll() {
        super.clearAll();
        free();
        hasMeans = false;
    }

    private void free() {
        aside.forEach(Tensor::close);
        aside.clear();
    }

    @Override
    public void close() {
        free();
        super.close();
    }
}
