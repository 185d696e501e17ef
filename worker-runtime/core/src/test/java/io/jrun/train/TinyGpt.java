package io.jrun.train;

import io.jrun.train.tensor.ModuleTensors;
import java.util.Map;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LayerNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * A one-block GPT. Its values come from a generator of its own: torch's default one is shared by all ranks of a JVM.
 */
public final class TinyGpt extends Module {
    public static final int VOCABULARY = 50;

    private static final int HEADS = 2;
    private final int width;
    private final EmbeddingImpl token;
    private final EmbeddingImpl place;
    private final LayerNormImpl norm;
    private final LinearImpl qkv;
    private final LinearImpl projection;
    private final LinearImpl up;
    private final LinearImpl down;
    private final LinearImpl head;
    private final Tensor positions;

    public TinyGpt(long seed, int width, int context) {
        this.width = width;
        token = register_module("token", new EmbeddingImpl(VOCABULARY, width));
        place = register_module("place", new EmbeddingImpl(context, width));
        norm = register_module("norm", new LayerNormImpl(new LayerNormOptions(new LongVector(new long[] {width}))));
        qkv = register_module("qkv", new LinearImpl(width, 3L * width));
        projection = register_module("projection", new LinearImpl(width, width));
        up = register_module("up", new LinearImpl(width, 4L * width));
        down = register_module("down", new LinearImpl(4L * width, width));
        head = register_module("head", new LinearImpl(width, VOCABULARY));
        positions = torch.arange(new Scalar(context), new TensorOptions(torch.ScalarType.Long));
        fill(ModuleTensors.parameters(this), seed);
    }

    /** Logits of shape [B, S, VOCABULARY] for token numbers of shape [B, S]. */
    public Tensor forward(Tensor tokens_BS) {
        long batch = tokens_BS.size(0);
        long context = tokens_BS.size(1);
        Tensor x = token.forward(tokens_BS).add(place.forward(positions));
        Tensor heads = qkv.forward(norm.forward(x))
                .view(batch, context, 3, HEADS, width / HEADS)
                .permute(2, 0, 3, 1, 4);
        Tensor attended = torch.scaled_dot_product_attention(
                heads.select(0, 0),
                heads.select(0, 1),
                heads.select(0, 2),
                new TensorOptional(),
                0.0,
                true,
                new DoubleOptional(),
                false);
        x = x.add(projection.forward(attended.transpose(1, 2).reshape(batch, context, width)));
        return head.forward(x.add(down.forward(torch.gelu(up.forward(x)))));
    }

    /** Mean cross entropy of predicting each token from those before it. */
    public Tensor loss(Tensor tokens_BS, Tensor next_BS) {
        return torch.cross_entropy_loss(forward(tokens_BS).view(-1, VOCABULARY), next_BS.view(-1));
    }

    /** A loss that leaves all but the token embedding out. */
    public Tensor lossOfEmbeddings() {
        return token.weight().sum();
    }

    /** Small normal values, one generator per parameter. */
    public static void fill(Map<String, Tensor> parameters, long seed) {
        try (NoGradGuard _ = new NoGradGuard()) {
            parameters.forEach((name, tensor) -> {
                Generator generator = torch.createCPUGenerator(seed * 31 + name.hashCode());
                tensor.normal_(0, 0.1, new GeneratorOptional(generator));
            });
        }
    }

    /** Token numbers of shape [batch, context], a function of the seed. */
    public static Tensor tokens(long seed, int batch, int context) {
        return torch.randint(
                VOCABULARY,
                new long[] {batch, context},
                new GeneratorOptional(torch.createCPUGenerator(seed)),
                new TensorOptions(torch.ScalarType.Long));
    }
}
