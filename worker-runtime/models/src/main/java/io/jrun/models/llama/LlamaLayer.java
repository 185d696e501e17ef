package io.jrun.models.llama;

import io.jrun.models.transformer.Attention;
import io.jrun.models.transformer.CompositeModule;
import io.jrun.models.transformer.Norm;
import io.jrun.models.transformer.Projection;
import io.jrun.models.transformer.Projection.Layout;
import io.jrun.models.transformer.RotaryEmbedding;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** One layer of Llama: attention and a SwiGLU layer (Shazeer 2020), each with a norm before. */
final class LlamaLayer extends CompositeModule {
    private final LlamaConfig config;
    private final RotaryEmbedding rotary;
    private final Norm attentionNorm;
    private final Projection query;
    private final Projection key;
    private final Projection value;
    private final Projection attentionOut;
    private final Norm feedForwardNorm;
    private final Projection gate;
    private final Projection up;
    private final Projection down;

    LlamaLayer(LlamaConfig config) {
        this.config = config;
        rotary = config.rotary();
        long width = config.width();
        long queryWidth = config.heads() * config.headWidth();
        long keyWidth = config.keyHeads() * config.headWidth();
        boolean hasBias = config.hasAttentionBias();
        attentionNorm = add("input_layernorm", Norm.rootMeanSquare(width, config.epsilon()));
        CompositeModule attention = add("self_attn", new CompositeModule());
        query = attention.add("q_proj", new Projection(width, queryWidth, hasBias, Layout.LINEAR));
        key = attention.add("k_proj", new Projection(width, keyWidth, hasBias, Layout.LINEAR));
        value = attention.add("v_proj", new Projection(width, keyWidth, hasBias, Layout.LINEAR));
        attentionOut = attention.add("o_proj", new Projection(queryWidth, width, hasBias, Layout.LINEAR));
        feedForwardNorm = add("post_attention_layernorm", Norm.rootMeanSquare(width, config.epsilon()));
        CompositeModule feedForward = add("mlp", new CompositeModule());
        gate = feedForward.add("gate_proj", new Projection(width, config.inner(), false, Layout.LINEAR));
        up = feedForward.add("up_proj", new Projection(width, config.inner(), false, Layout.LINEAR));
        down = feedForward.add("down_proj", new Projection(config.inner(), width, false, Layout.LINEAR));
    }

    Tensor forward(Tensor x_BSD) {
        Tensor normed = attentionNorm.forward(x_BSD);
        Tensor attended = Attention.attend(
                rotary.turn(Attention.split(query.forward(normed), config.heads())),
                rotary.turn(Attention.split(key.forward(normed), config.keyHeads())),
                Attention.split(value.forward(normed), config.keyHeads()),
                true);
        Tensor y_BSD = x_BSD.add(attentionOut.forward(attended));
        Tensor inner = feedForwardNorm.forward(y_BSD);
        return y_BSD.add(down.forward(torch.silu(gate.forward(inner)).mul(up.forward(inner))));
    }
}
