package io.jrun.examples.gpt;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SequencePositions;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.layer.TokenLoss;
import io.jrun.train.recompute.RecomputePolicy;
import io.jrun.train.recompute.RecomputedSegment;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A decoder-only transformer (Radford et al. 2019, GPT-2's layout). Shapes: B batch, S sequence, D width, V
 * vocabulary.
 */
final class Gpt extends CompositeModule {
    private static final double INITIAL_DEVIATION = 0.02;

    private final GptConfig config;
    private final SequencePositions positions = add("positions", new SequencePositions());
    private final TokenEmbedding tokenEmbedding;
    private final TokenEmbedding positionEmbedding;
    private final List<UnaryOperator<Tensor>> blocks = new ArrayList<>();
    private final Norm norm;
    private final @Nullable LinearLayer head;
    private final TokenLoss loss = add("loss", new TokenLoss());

    Gpt(GptConfig config, long seed) {
        this(config, seed, RecomputePolicy.NONE);
    }

    /** A model that keeps only the inputs of the blocks of {@code recompute}. */
    Gpt(GptConfig config, long seed, RecomputePolicy recompute) {
        this.config = config;
        tokenEmbedding = add("tokenEmbedding", new TokenEmbedding(config.vocabulary(), config.width()));
        positionEmbedding = add("positionEmbedding", new TokenEmbedding(config.context(), config.width()));
        for (int i = 0; i < config.layers(); i++) {
            Block block = add("block" + i, new Block(config));
            blocks.add(recompute.recomputes(i) ? recomputed("block" + i, block) : block::forward);
        }
        norm = add("norm", Norm.layer(config.width(), Block.EPSILON));
        head = config.isTied() ? null : add("head", new LinearLayer(config.width(), config.vocabulary(), false));
        initialize(seed);
    }

    private static UnaryOperator<Tensor> recomputed(String name, Block block) {
        return RecomputedSegment.of(name, block, block::forward)::forward;
    }

    GptConfig config() {
        return config;
    }

    /** Logits [B, S, V] of the token after each token of {@code tokens_BS} (Long; S up to the context). */
    Tensor forward(Tensor tokens_BS) {
        Tensor x_BSD =
                tokenEmbedding.forward(tokens_BS).add(positionEmbedding.forward(positions.of(tokens_BS.size(1))));
        for (UnaryOperator<Tensor> block : blocks) {
            x_BSD = block.apply(x_BSD);
        }
        Tensor last_BSD = norm.forward(x_BSD);
        return head == null ? tokenEmbedding.logits(last_BSD) : head.forward(last_BSD);
    }

    /** Mean cross entropy in nats per token. */
    Tensor loss(Tensor tokens_BS, Tensor next_BS) {
        return loss.mean(forward(tokens_BS), next_BS);
    }

    /** How tensor parallel ranks share the layers. */
    Map<String, ParallelStyle> tensorParallelPlan() {
        Map<String, ParallelStyle> plan = new HashMap<>();
        plan.put("tokenEmbedding", ParallelStyle.VOCABULARY);
        plan.put("loss", ParallelStyle.VOCABULARY);
        if (head != null) {
            plan.put("head", ParallelStyle.VOCABULARY);
        }
        plan.put("positionEmbedding", ParallelStyle.SEQUENCE);
        plan.put("norm", ParallelStyle.SEQUENCE);
        plan.put("block*.*Norm", ParallelStyle.SEQUENCE);
        plan.put("block*.queriesKeysValues", ParallelStyle.jointHeads(config.heads()));
        plan.put("block*.projection", ParallelStyle.ROW);
        plan.put("block*.up", ParallelStyle.COLUMN);
        plan.put("block*.down", ParallelStyle.ROW);
        return plan;
    }

    long parameterCount() {
        return ModuleTensors.parameters(this).values().stream()
                .mapToLong(Tensor::numel)
                .sum();
    }

    /**
     * Sets GPT-2's initial values: matrices normal, biases 0. The deviation of a matrix at the end of a residual branch
     * is smaller by the factor sqrt(2 layers).
     */
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
