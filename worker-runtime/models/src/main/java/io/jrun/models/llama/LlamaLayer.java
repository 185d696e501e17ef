package io.jrun.models.llama;

import io.jrun.comm.Device;
import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.models.transformer.Projection;
import io.jrun.models.transformer.RotaryEmbedding;
import io.jrun.train.expert.ExpertNetwork;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.LinearLayer.Layout;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SequencePositions;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Tensor;

/** One layer of Llama: attention and a SwiGLU layer (Shazeer 2020), each with a norm before. */
final class LlamaLayer extends CompositeModule {
    private final SequencePositions positions;
    private final RotaryEmbedding rotary;
    private final AttentionLayer attend;
    private final Norm attentionNorm;
    private final Projection query;
    private final Projection key;
    private final Projection value;
    private final Projection attentionOut;
    private final Norm feedForwardNorm;
    private final UnaryOperator<Tensor> feedForward;

    LlamaLayer(LlamaConfig config, ExpertLayers experts, SequencePositions positions, Device device) {
        this.positions = positions;
        rotary = config.rotary();
        attend = add("attend", new AttentionLayer(config.headWidth()));
        long width = config.width();
        long queryWidth = config.heads() * config.headWidth();
        long keyWidth = config.keyHeads() * config.headWidth();
        boolean hasBias = config.hasAttentionBias();
        attentionNorm = add("input_layernorm", Norm.rootMeanSquare(width, config.epsilon(), device));
        CompositeModule attention = add("self_attn", new CompositeModule());
        query = attention.add("q_proj", new Projection(width, queryWidth, hasBias, Layout.LINEAR, device));
        key = attention.add("k_proj", new Projection(width, keyWidth, hasBias, Layout.LINEAR, device));
        value = attention.add("v_proj", new Projection(width, keyWidth, hasBias, Layout.LINEAR, device));
        attentionOut = attention.add("o_proj", new Projection(queryWidth, width, hasBias, Layout.LINEAR, device));
        feedForwardNorm = add("post_attention_layernorm", Norm.rootMeanSquare(width, config.epsilon(), device));
        feedForward = experts.equals(ExpertLayers.NONE)
                ? add("mlp", new FeedForward(config, device))::forward
                : add("mlp", experts.layer(ExpertNetwork.Kind.SWIGLU, width, config.inner(), device))::forward;
    }

    Tensor forward(Tensor x_BSD) {
        Tensor normed = attentionNorm.forward(x_BSD);
        List<Tensor> qkv = LinearLayer.forwardAll(normed, List.of(query, key, value));
        Tensor queries = attend.split(qkv.get(0));
        Tensor at = positions.of(queries.size(2), queries);
        Tensor attended = attend.attend(
                rotary.turn(queries, at), rotary.turn(attend.split(qkv.get(1)), at), attend.split(qkv.get(2)), true);
        Tensor y_BSD = x_BSD.add(attentionOut.forward(attended));
        return y_BSD.add(feedForward.apply(feedForwardNorm.forward(y_BSD)));
    }

    private static final class FeedForward extends CompositeModule {
        private final Projection gate;
        private final Projection up;
        private final Projection down;
        private final Activation activation;

        FeedForward(LlamaConfig config, Device device) {
            long width = config.width();
            long inner = config.inner();
            boolean hasBias = config.hasFeedForwardBias();
            gate = add("gate_proj", new Projection(width, inner, hasBias, Layout.LINEAR, device));
            up = add("up_proj", new Projection(width, inner, hasBias, Layout.LINEAR, device));
            down = add("down_proj", new Projection(inner, width, hasBias, Layout.LINEAR, device));
            activation = config.activation();
        }

        Tensor forward(Tensor x_BSD) {
            List<Tensor> gateAndUp = LinearLayer.forwardAll(x_BSD, List.of(gate, up));
            return down.forward(activation.of(gateAndUp.get(0)).mul(gateAndUp.get(1)));
        }
    }
}
