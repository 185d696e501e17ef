package io.jrun.bench;

import io.jrun.comm.ProcessGroup;
import io.jrun.train.layer.AttentionLayer;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.layer.Norm;
import io.jrun.train.layer.SequencePositions;
import io.jrun.train.layer.TokenEmbedding;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.module.BlockModel;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.module.PipelineLayer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.train.tensorparallel.TensorParallel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The decoder of scripts/bench/peers/ddp_gloo.py, layer for layer: 3.7 million parameters, pre-norm blocks, learned
 * positions, untied head. Shapes: B batch, S sequence, D model width, V vocabulary.
 */
final class BenchGpt extends CompositeModule implements BlockModel {
    static final long V = 1000;
    static final long S = 64;
    static final long D = 256;
    static final long HEADS = 4;
    static final long FF = 1024;
    static final int LAYERS = 4;
    private static final double EPSILON = 1e-5;

    private final TokenEmbedding tokens = add("tok", new TokenEmbedding(V, D));
    private final TokenEmbedding positions = add("pos", new TokenEmbedding(S, D));
    private final List<ModelBlock> blocks = new ArrayList<>();
    private final Norm norm;
    private final LinearLayer head;
    private final SequencePositions places = add("places", new SequencePositions());

    BenchGpt() {
        for (int layer = 0; layer < LAYERS; layer++) {
            Block block = add("block" + layer, new Block());
            blocks.add(new ModelBlock("block" + layer, layer, block, block::forward));
        }
        norm = add("ln", Norm.layer(D, EPSILON));
        head = add("head", new LinearLayer(D, V, true));
    }

    @Override
    public List<ModelBlock> blocks() {
        return blocks;
    }

    /** Makes the ranks of a group share the blocks; each rank keeps the embeddings and the head. */
    void shareBlocks(ProcessGroup group) {
        TensorParallel.apply(
                this,
                new MeshAxis("tp", group),
                false,
                Map.of(
                        "block*.qkv", ParallelStyle.jointHeads(HEADS),
                        "block*.proj", ParallelStyle.ROW,
                        "block*.fc", ParallelStyle.COLUMN,
                        "block*.out", ParallelStyle.ROW));
    }

    /** Logits [B, S, V] of token ids [B, S]. */
    Tensor forward(Tensor ids_BS) {
        Tensor x_BSD = embed(ids_BS);
        for (ModelBlock block : blocks) {
            x_BSD = block.forward(x_BSD);
        }
        return head.forward(norm.forward(x_BSD));
    }

    private Tensor embed(Tensor ids_BS) {
        return tokens.forward(ids_BS).add(positions.forward(places.of(S, ids_BS)));
    }

    /** The layers for a pipeline: the embedding, the blocks, the head. */
    List<PipelineLayer> layers() {
        List<PipelineLayer> layers = new ArrayList<>();
        Map<String, Tensor> embedding = new LinkedHashMap<>();
        embedding.put("tok.weight", tokens.weight());
        embedding.put("pos.weight", positions.weight());
        layers.add(new PipelineLayer("embedding", embedding, this::embed));
        blocks.forEach(block -> layers.add(block.layer()));
        Map<String, Tensor> last = new LinkedHashMap<>();
        ModuleTensors.parameters(norm).forEach((name, tensor) -> last.put("ln." + name, tensor));
        ModuleTensors.parameters(head).forEach((name, tensor) -> last.put("head." + name, tensor));
        layers.add(new PipelineLayer("head", last, x -> head.forward(norm.forward(x))));
        return layers;
    }

    private static final class Block extends CompositeModule {
        private final AttentionLayer attention = add("attention", new AttentionLayer(D / HEADS));
        private final Norm norm1 = add("n1", Norm.layer(D, EPSILON));
        private final Norm norm2 = add("n2", Norm.layer(D, EPSILON));
        private final LinearLayer qkv = add("qkv", new LinearLayer(D, 3 * D, true));
        private final LinearLayer projection = add("proj", new LinearLayer(D, D, true));
        private final LinearLayer up = add("fc", new LinearLayer(D, FF, true));
        private final LinearLayer down = add("out", new LinearLayer(FF, D, true));

        Tensor forward(Tensor x_BSD) {
            Tensor attended_BSD = attention.attendJoint(qkv.forward(norm1.forward(x_BSD)), true);
            Tensor residual_BSD = x_BSD.add(projection.forward(attended_BSD));
            return residual_BSD.add(down.forward(torch.gelu(up.forward(norm2.forward(residual_BSD)))));
        }
    }
}
