package io.jrun.train.model;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.ParameterNotes;
import io.jrun.train.mesh.ShardedInitialization;
import io.jrun.train.mesh.ShardedTensor;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/**
 * The first values of a model: matrices normal with deviation 0.02, biases 0, weights of norms 1. The deviation of the
 * matrices {@code c_proj}, {@code o_proj} and {@code down_proj}, which are the ends of residual branches in the models
 * of Hugging Face, is smaller by the factor sqrt(2 layers): Radford et al. 2019. The values of a parameter depend on
 * the seed and on its name only. Layers of libtorch, and modules of one's own that are no
 * {@code CompositeModule}, keep their values.
 */
public final class InitialValues {
    private static final double DEVIATION = 0.02;
    private static final Pattern END_OF_BRANCH = Pattern.compile(".*\\.(c_proj|o_proj|down_proj)\\.weight");

    private final long seed;
    private final double branchDeviation;
    private final Set<Long> filled = new HashSet<>();

    /**
     * Values for one model.
     *
     * @param layers the number of blocks, for the deviation at the ends of residual branches
     */
    public InitialValues(long seed, long layers) {
        this.seed = seed;
        this.branchDeviation = DEVIATION / Math.sqrt(2.0 * layers);
    }

    /** Fills the parameters of a block as soon as the block is built. */
    public void fill(ModelBlock block) {
        fill(block.name() + ".", block.module());
    }

    /** Fills the parameters of {@code model} that this object has not filled yet. */
    public void fill(Module model) {
        BlockModel.requireBuilt(model);
        fill("", model);
    }

    private void fill(String prefix, Module part) {
        try (NoGradGuard _ = new NoGradGuard()) {
            ofOthers(part).forEach(tensor -> filled.add(TensorMemory.identity(tensor)));
            ModuleTensors.parameters(part).forEach((name, tensor) -> {
                if (filled.add(TensorMemory.identity(tensor))) {
                    fill(prefix + name, tensor);
                }
            });
        }
    }

    /** The parameters of the layers in a part that are not jrun's. */
    private static Stream<Tensor> ofOthers(Module part) {
        Stream<Module> layers = part instanceof CompositeModule composite
                ? Stream.concat(Stream.of(part), composite.descendants().values().stream())
                : Stream.of(part);
        return layers.filter(layer -> !(layer instanceof CompositeModule)
                        && !layer.getClass().getPackageName().startsWith("io.jrun."))
                .flatMap(layer -> ModuleTensors.parameters(layer).values().stream());
    }

    private void fill(String name, Tensor tensor) {
        if (ParameterNotes.gradients(tensor).isPresent()) {
            throw new IllegalStateException("parameter '" + name + "' is prepared for a reduction of gradients already."
                    + " Call InitialValues.fill before FullyShard, DDP and ZeRO.");
        }
        boolean isBias = name.endsWith("bias"); // The biases of experts are the rows of a matrix.
        if (tensor.dim() > 1 && !isBias) {
            boolean endsBranch = END_OF_BRANCH.matcher(name).matches();
            ShardedInitialization.normal(
                    ShardedTensor.of(name, tensor), seed, 0, endsBranch ? branchDeviation : DEVIATION);
        } else {
            tensor.fill_(new Scalar(isBias ? 0.0 : 1.0));
        }
    }
}
