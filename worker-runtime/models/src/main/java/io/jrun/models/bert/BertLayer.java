package io.jrun.models.bert;

import io.jrun.models.transformer.Attention;
import io.jrun.models.transformer.CompositeModule;
import io.jrun.models.transformer.Norm;
import io.jrun.models.transformer.Projection;
import io.jrun.models.transformer.Projection.Layout;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** One layer of BERT's encoder: attention and feed-forward layer, each with a norm after its residual sum. */
final class BertLayer extends CompositeModule {
    private final long heads;
    private final Projection query;
    private final Projection key;
    private final Projection value;
    private final Projection attentionOut;
    private final Norm attentionNorm;
    private final Projection feedForwardIn;
    private final Projection feedForwardOut;
    private final Norm feedForwardNorm;

    BertLayer(BertConfig config) {
        heads = config.heads();
        long width = config.width();
        CompositeModule attention = add("attention", new CompositeModule());
        CompositeModule self = attention.add("self", new CompositeModule());
        query = self.add("query", projection(width, width));
        key = self.add("key", projection(width, width));
        value = self.add("value", projection(width, width));
        CompositeModule out = attention.add("output", new CompositeModule());
        attentionOut = out.add("dense", projection(width, width));
        attentionNorm = out.add("LayerNorm", Norm.layer(width, config.epsilon()));
        feedForwardIn = add("intermediate", new CompositeModule()).add("dense", projection(width, config.inner()));
        CompositeModule output = add("output", new CompositeModule());
        feedForwardOut = output.add("dense", projection(config.inner(), width));
        feedForwardNorm = output.add("LayerNorm", Norm.layer(width, config.epsilon()));
    }

    private static Projection projection(long inputs, long outputs) {
        return new Projection(inputs, outputs, true, Layout.LINEAR);
    }

    Tensor forward(Tensor x_BSD) {
        Tensor attended = Attention.attend(
                Attention.split(query.forward(x_BSD), heads),
                Attention.split(key.forward(x_BSD), heads),
                Attention.split(value.forward(x_BSD), heads),
                false);
        Tensor y_BSD = attentionNorm.forward(attentionOut.forward(attended).add(x_BSD));
        Tensor inner = torch.gelu(feedForwardIn.forward(y_BSD));
        return feedForwardNorm.forward(feedForwardOut.forward(inner).add(y_BSD));
    }
}
