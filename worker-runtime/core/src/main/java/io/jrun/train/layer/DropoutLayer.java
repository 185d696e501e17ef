package io.jrun.train.layer;

import io.jrun.comm.Device;
import io.jrun.train.tensor.DeviceGenerators;
import io.jrun.train.tensor.TensorMemory;
import java.util.SplittableRandom;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Dropout (Srivastava et al. 2014) with a generator of its own: libtorch's default generator is shared by all ranks
 * that are threads of one JVM, and ranks of tensor parallelism need equal or distinct masks. In evaluation mode the
 * input passes.
 */
public final class DropoutLayer extends Module {
    private final double probability;
    private final Device device;
    private long seed;
    private Generator generator;
    private MaskShape maskShape = MaskShape.SAME;

    /** As {@link #DropoutLayer(double, long, Device)}, for inputs on the CPU. */
    public DropoutLayer(double probability, long seed) {
        this(probability, seed, Device.CPU);
    }

    /**
     * A layer that sets elements to zero.
     *
     * @param probability of zero, from 0 to less than 1
     * @param seed equal seeds give equal masks on devices of one type
     * @param device of the inputs
     */
    public DropoutLayer(double probability, long seed, Device device) {
        if (!(probability >= 0 && probability < 1)) {
            throw new IllegalArgumentException(
                    "a dropout probability must be from 0 to less than 1, not " + probability);
        }
        this.probability = probability;
        this.seed = seed;
        this.device = device;
        generator = DeviceGenerators.create(device, seed);
    }

    /** The input with some elements set to zero, and the others divided by 1 - probability. */
    public Tensor forward(Tensor x) {
        if (!is_training() || probability == 0) {
            return x;
        }
        Tensor mask;
        try (NoGradGuard _ = new NoGradGuard()) {
            mask = maskShape.mask(
                    TensorMemory.sizes(x),
                    sizes -> torch.empty(sizes, x.options(), new MemoryFormatOptional())
                            .bernoulli_(1 - probability, new GeneratorOptional(generator))
                            .div_(new Scalar(1 - probability)));
        }
        return x.mul(mask);
    }

    /** Sets the random numbers back to their beginning. */
    public void setSeed(long newSeed) {
        seed = newSeed;
        generator = DeviceGenerators.create(device, newSeed);
    }

    /**
     * Begins the random numbers of a step. The seed of the layer and the number of the step decide them, so a job that
     * resumes draws the masks of the steps that it makes. The Trainer calls this method. A loop by hand calls it before
     * the forward passes of a step.
     *
     * @param step a number of the step, which differs between ranks that read different samples
     */
    public void beginStep(long step) {
        long ofLayer = new SplittableRandom(seed).nextLong();
        generator.set_current_seed(new SplittableRandom(ofLayer + step).nextLong());
    }

    /** The seed of the random numbers. */
    public long seed() {
        return seed;
    }

    /** The generator of the masks. */
    public Generator generator() {
        return generator;
    }

    /** Replaces the rule for the mask of an input. */
    public void setMaskShape(MaskShape newShape) {
        maskShape = newShape;
    }
}
