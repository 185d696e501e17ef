package io.jrun.train.recompute;

import io.jrun.train.TinyGpt;
import io.jrun.train.tensor.ModuleTensors;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Feed-forward blocks of which some are recomputed. The first weight is also the output layer: a shared parameter. */
final class FeedForwardStack extends Module {
    private final List<FeedForwardBlock> blocks = new ArrayList<>();
    private final List<RecomputedSegment> segments = new ArrayList<>();
    private final IntPredicate recomputes;

    FeedForwardStack(int layers, int width, double dropout, IntPredicate recomputes) {
        this.recomputes = recomputes;
        for (int layer = 0; layer < layers; layer++) {
            FeedForwardBlock block = register_module("block" + layer, new FeedForwardBlock(width, dropout));
            blocks.add(block);
            segments.add(RecomputedSegment.of("block" + layer, block, block::forward));
        }
        TinyGpt.fill(ModuleTensors.parameters(this), 5);
    }

    /** The number of times that the blocks have computed their outputs. */
    List<Integer> calls() {
        return blocks.stream().map(block -> block.calls).toList();
    }

    Tensor forward(Tensor x) {
        Tensor y = x;
        for (int layer = 0; layer < blocks.size(); layer++) {
            y = recomputes.test(layer)
                    ? segments.get(layer).forward(y)
                    : blocks.get(layer).forward(y);
        }
        return y;
    }

    Tensor loss(Tensor x) {
        return torch.linear(forward(x), blocks.getFirst().up.weight())
                .pow(new org.bytedeco.pytorch.Scalar(2))
                .mean();
    }

    static final class FeedForwardBlock extends Module {
        private final LinearImpl up;
        private final LinearImpl down;
        private final double dropout;
        private int calls;

        FeedForwardBlock(int width, double dropout) {
            this.dropout = dropout;
            up = register_module("up", new LinearImpl(width, 4L * width));
            down = register_module("down", new LinearImpl(4L * width, width));
        }

        Tensor forward(Tensor x) {
            calls++;
            Tensor hidden = torch.gelu(up.forward(x));
            return down.forward(dropout > 0 ? torch.dropout(hidden, dropout, true) : hidden);
        }
    }
}
