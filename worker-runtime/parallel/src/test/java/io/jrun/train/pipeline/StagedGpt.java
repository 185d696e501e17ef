package io.jrun.train.pipeline;

import io.jrun.train.autograd.DeferredLinear;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.recompute.Recompute;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LayerNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/** A language model as layers of a pipeline: an embedding, six blocks, an output layer. */
final class StagedGpt {
    static final int VOCABULARY = 40;
    static final int WIDTH = 16;
    static final int CONTEXT = 6;
    static final int BLOCKS = 6;

    private final EmbeddingImpl tokens = new EmbeddingImpl(VOCABULARY, WIDTH);
    private final LinearImpl head = new LinearImpl(WIDTH, VOCABULARY);
    private final List<Block> blocks = new ArrayList<>();
    private final boolean isTied;
    private final boolean recomputes;

    StagedGpt(boolean isTied, boolean recomputes) {
        this.isTied = isTied;
        this.recomputes = recomputes;
        for (int i = 0; i < BLOCKS; i++) {
            blocks.add(new Block());
        }
        fill(Map.of("tokens", tokens.weight(), "bias", head.bias()));
        try (NoGradGuard _ = new NoGradGuard()) {
            Tensor _ = head.weight().copy_(tokens.weight());
        }
        for (int i = 0; i < BLOCKS; i++) {
            Map<String, Tensor> named = new LinkedHashMap<>();
            String prefix = "block" + i + ".";
            ModuleTensors.parameters(blocks.get(i)).forEach((name, tensor) -> named.put(prefix + name, tensor));
            fill(named);
        }
    }

    private static void fill(Map<String, Tensor> parameters) {
        try (NoGradGuard _ = new NoGradGuard()) {
            parameters.forEach((name, tensor) -> {
                Generator generator = torch.createCPUGenerator(name.hashCode());
                tensor.normal_(0, 0.2, new GeneratorOptional(generator));
            });
        }
    }

    List<PipelineLayer> layers() {
        List<PipelineLayer> layers = new ArrayList<>();
        layers.add(new PipelineLayer("embedding", Map.of("tokens", tokens.weight()), tokens::forward));
        for (int i = 0; i < BLOCKS; i++) {
            Block block = blocks.get(i);
            ModelBlock built = new ModelBlock("block" + i, i, block, block::forward);
            if (recomputes) {
                Recompute.apply(built);
            }
            layers.add(built.layer());
        }
        Tensor matrix = isTied ? tokens.weight() : head.weight();
        Map<String, Tensor> last = new LinkedHashMap<>();
        last.put(isTied ? "tokens" : "head", matrix);
        last.put("bias", head.bias());
        layers.add(new PipelineLayer("head", last, x -> DeferredLinear.linear(x, matrix, head.bias())));
        return layers;
    }

    static Tensor loss(Tensor logits_BSV, Tensor next_BS) {
        return torch.cross_entropy_loss(logits_BSV.reshape(-1, VOCABULARY), next_BS.reshape(-1));
    }

    /** Token numbers [batch, CONTEXT], a function of the seed. */
    static Tensor batch(long seed, int batch) {
        return torch.randint(
                VOCABULARY,
                new long[] {batch, CONTEXT},
                new GeneratorOptional(torch.createCPUGenerator(seed)),
                new TensorOptions(torch.ScalarType.Long));
    }

    private static final class Block extends Module {
        private final LayerNormImpl norm;
        private final LinearImpl up;
        private final LinearImpl down;

        Block() {
            norm = register_module("norm", new LayerNormImpl(new LayerNormOptions(new LongVector(new long[] {WIDTH}))));
            up = register_module("up", new LinearImpl(WIDTH, 3L * WIDTH));
            down = register_module("down", new LinearImpl(3L * WIDTH, WIDTH));
        }

        Tensor forward(Tensor x) {
            Tensor inner = DeferredLinear.linear(norm.forward(x), up.weight(), up.bias());
            return x.add(DeferredLinear.linear(torch.gelu(inner), down.weight(), down.bias()));
        }
    }
}
