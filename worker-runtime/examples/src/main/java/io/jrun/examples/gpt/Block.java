package io.jrun.examples.gpt;

import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.Norm;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * One transformer block: causal attention and a feed-forward layer, each after a layer norm and with a residual
 * connection. Shapes: B batch, S sequence, D width.
 */
final class Block extends CompositeModule {
    /** Added to the variance in norms. */
    static final double EPSILON = 1e-5;

    private final AttentionLayer attention;
    private final Norm attentionNorm;
    private final LinearLayer queriesKeysValues;
    private final LinearLayer projection;
    private final Norm feedForwardNorm;
    private final LinearLayer up;
    private final LinearLayer down;

    Block(GptConfig config) {
        long width = config.width();
        attention = add("attention", new AttentionLayer(width / config.heads()));
        attentionNorm = add("attentionNorm", Norm.layer(width, EPSILON));
        queriesKeysValues = add("queriesKeysValues", new LinearLayer(width, 3 * width, true));
        projection = add("projection", new LinearLayer(width, width, true));
        feedForwardNorm = add("feedForwardNorm", Norm.layer(width, EPSILON));
        up = add("up", new LinearLayer(width, 4 * width, true));
        down = add("down", new LinearLayer(4 * width, width, true));
    }

    Tensor forward(Tensor x_BSD) {
        Tensor attended = attention.attendJoint(queriesKeysValues.forward(attentionNorm.forward(x_BSD)), true);
        Tensor x = x_BSD.add(projection.forward(attended));
        return x.add(down.forward(torch.gelu(up.forward(feedForwardNorm.forward(x)))));
    }
}
