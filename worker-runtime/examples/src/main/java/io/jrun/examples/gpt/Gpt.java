package io.jrun.examples.gpt;

import io.jrun.train.recompute.RecomputePolicy;
import io.jrun.train.recompute.RecomputedSegment;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LinearOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A decoder-only transformer over bytes (Radford et al. 2019, GPT-2's layout). Shapes: B batch, S sequence, D width, V
 * vocabulary.
 */
final class Gpt extends Module {
    /** Tokens are bytes. */
    static final int VOCABULARY = 256;

    private static final double INITIAL_DEVIATION = 0.02;

    private final GptConfig config;
    private final EmbeddingImpl tokenEmbedding;
    private final EmbeddingImpl positionEmbedding;
    private final List<UnaryOperator<Tensor>> blocks = new ArrayList<>();
    private final LayerNormImpl norm;
    private final @Nullable LinearImpl head;
    private final Tensor positions_S;

    Gpt(GptConfig config, long seed) {
        this(config, seed, RecomputePolicy.NONE);
    }

    /** A model that keeps only the inputs of the blocks of {@code recompute}. */
    Gpt(GptConfig config, long seed, RecomputePolicy recompute) {
        this.config = config;
        tokenEmbedding = register_module("tokenEmbedding", new EmbeddingImpl(VOCABULARY, config.width()));
        positionEmbedding = register_module("positionEmbedding", new EmbeddingImpl(config.context(), config.width()));
        for (int i = 0; i < config.layers(); i++) {
            Block block = register_module("block" + i, new Block(config));
            blocks.add(recompute.recomputes(i) ? recomputed("block" + i, block) : block::forward);
        }
        norm = register_module("norm", Block.norm(config.width()));
        head = config.isTied() ? null : register_module("head", untiedHead(config));
        positions_S = torch.arange(new Scalar(config.context()), new TensorOptions(torch.ScalarType.Long));
        initialize(seed);
    }

    private static UnaryOperator<Tensor> recomputed(String name, Block block) {
        return RecomputedSegment.of(name, block, block::forward)::forward;
    }

    private static LinearImpl untiedHead(GptConfig config) {
        LinearOptions options = new LinearOptions(config.width(), VOCABULARY);
        options.bias().put(false);
        return new LinearImpl(options);
    }

    GptConfig config() {
        return config;
    }

    /** Logits [B, S, V] of the byte after each byte of {@code bytes_BS} (Long; S up to the context). */
    Tensor forward(Tensor bytes_BS) {
        Tensor x_BSD = tokenEmbedding
                .forward(bytes_BS)
                .add(positionEmbedding.forward(positions_S.narrow(0, 0, bytes_BS.size(1))));
        for (UnaryOperator<Tensor> block : blocks) {
            x_BSD = block.apply(x_BSD);
        }
        Tensor last_BSD = norm.forward(x_BSD);
        return head == null ? torch.linear(last_BSD, tokenEmbedding.weight()) : head.forward(last_BSD);
    }

    /** Mean cross entropy in nats per byte. */
    Tensor loss(Tensor bytes_BS, Tensor next_BS) {
        return torch.cross_entropy_loss(forward(bytes_BS).view(-1, VOCABULARY), next_BS.view(-1));
    }

    long parameterCount() {
        return ModuleTensors.parameters(this).values().stream()
                .mapToLong(Tensor::numel)
                .sum();
    }

    /** GPT-2's: matrices normal, those that end a residual branch smaller by sqrt(2 layers), biases 0. */
    private void initialize(long seed) {
        Generator generator = torch.createCPUGenerator(seed);
        double residual = INITIAL_DEVIATION / Math.sqrt(2.0 * config.layers());
        try (NoGradGuard _ = new NoGradGuard()) {
            ModuleTensors.parameters(this).forEach((name, tensor) -> {
                if (tensor.dim() < 2) {
                    tensor.fill_(new Scalar(name.endsWith("orm.weight") ? 1.0 : 0.0));
                } else {
                    boolean endsBranch = name.endsWith("projection.weight") || name.endsWith("down.weight");
                    tensor.normal_(0, endsBranch ? residual : INITIAL_DEVIATION, new GeneratorOptional(generator));
                }
            });
        }
    }
}
