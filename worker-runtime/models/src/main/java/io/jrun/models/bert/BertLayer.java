package io.jrun.models.bert;

import io.jrun.comm.Device;
import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.Projection;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.Norm;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** One layer of BERT's encoder: attention and feed-forward layer, each with a norm after its residual sum. */
final class BertLayer extends CompositeModule {
    private final AttentionLayer attend;
    private final Projection query;
    private final Projection key;
    private final Projection value;
    private final Projection attentionOut;
    private final Norm attentionNorm;
    private final Projection feedForwardIn;
    private final Projection feedForwardOut;
    private final Norm feedForwardNorm;
    private final Activation activation;

    BertLayer(BertConfig config, Device device) {
        long width = config.width();
        activation = config.activation();
        attend = add("attend", new AttentionLayer(width / config.heads()));
        CompositeModule attention = add("attention", new CompositeModule());
        CompositeModule self = attention.add("self", new CompositeModule());
        query = self.add("query", projection(width, width, device));
        key = self.add("key", projection(width, width, device));
        value = self.add("value", projection(width, width, device));
        CompositeModule out = attention.add("output", new CompositeModule());
        attentionOut = out.add("dense", projection(width, width, device));
        attentionNorm = out.add("LayerNorm", Norm.layer(width, config.epsilon(), device));
        feedForwardIn =
                add("intermediate", new CompositeModule()).add("dense", projection(width, config.inner(), device));
        CompositeModule output = add("output", new CompositeModule());
        feedForwardOut = output.add("dense", projection(config.inner(), width, device));
        feedForwardNorm = output.add("LayerNorm", Norm.layer(width, config.epsilon(), device));
    }

    private static Projection projection(long inputs, long outputs, Device device) {
        return new Projection(inputs, outputs, true, Layout.LINEAR, device);
    }

    Tensor forward(Tensor x_BSD) {
        List<Tensor> qkv = LinearLayer.forwardAll(x_BSD, List.of(query, key, value));
        Tensor attended =
                attend.attend(attend.split(qkv.get(0)), attend.split(qkv.get(1)), attend.split(qkv.get(2)), false);
        Tensor y_BSD = attentionNorm.forward(attentionOut.forward(attended).add(x_BSD));
        Tensor inner = activation.of(feedForwardIn.forward(y_BSD));
        return feedForwardNorm.forward(feedForwardOut.forward(inner).add(y_BSD));
    }
}
