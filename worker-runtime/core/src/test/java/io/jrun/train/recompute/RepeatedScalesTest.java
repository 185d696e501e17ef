package io.jrun.train.recompute;

import static io.jrun.train.EqualBits.assertEqualBits;

import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.Float8Layers;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Segments with operands of 8 bits, whose scales change with each operand. */
class RepeatedScalesTest {
    private static final int WIDTH = 16;
    private static final int MICRO_BATCHES = 3;

    /** The parts of a block that are recomputed. */
    enum Recomputed {
        BLOCK,
        HALF,
        BLOCK_AND_HALF
    }

    /** A block that calls one of its layers twice. */
    private static final class Block extends CompositeModule {
        private final LinearLayer up = add("up", new LinearLayer(WIDTH, WIDTH, true));
        private final LinearLayer down = add("down", new LinearLayer(WIDTH, WIDTH, false));
        private final Float8Layers products = new Float8Layers(descendants(LinearLayer.class));

        Block() {
            TinyGpt.fill(ModuleTensors.parameters(this), 5);
        }

        Tensor forward(Tensor x, boolean isHalfRecomputed) {
            Tensor hidden = torch.gelu(up.forward(x));
            Tensor twice = isHalfRecomputed
                    ? RecomputedSegment.of("half", up, up::forward).forward(hidden)
                    : up.forward(hidden);
            return down.forward(twice.add(hidden).mul(new Scalar(3.0)));
        }
    }

    /** The gradients and the scales after several micro-batches, whose forward passes run before the backward passes. */
    private static List<float[]> train(Block block, boolean isBlock, boolean isHalf) {
        torch.manual_seed(3);
        RecomputedSegment segment = RecomputedSegment.of("block", block, x -> block.forward(x, isHalf));
        List<Tensor> losses = new ArrayList<>();
        List<float[]> values = new ArrayList<>();
        for (int i = 1; i <= MICRO_BATCHES; i++) {
            Tensor x = torch.randn(4, WIDTH).mul(new Scalar(i));
            Tensor y = isBlock ? segment.forward(x) : block.forward(x, isHalf);
            losses.add(y.pow(new Scalar(2)).mean());
        }
        losses.reversed().forEach(Tensor::backward);
        losses.forEach(loss -> values.add(floats(loss)));
        ModuleTensors.parameters(block).values().forEach(parameter -> values.add(floats(parameter.grad())));
        block.products.state().values().forEach(state -> values.add(floats(state)));
        return values;
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().contiguous()).toArray(ValueLayout.JAVA_FLOAT);
    }

    @ParameterizedTest
    @EnumSource
    void recomputationHasTheBitsAndTheScalesOfAPlainPass(Recomputed part) {
        Libtorch.setThreads(1);
        try (PointerScope _ = new PointerScope()) {
            List<float[]> wanted = train(new Block(), false, false);
            List<float[]> found = train(new Block(), part != Recomputed.HALF, part != Recomputed.BLOCK);
            assertEqualBits(found, wanted);
        }
    }

    @Test
    void anEvaluationChangesNoScale() {
        Libtorch.setThreads(1);
        try (PointerScope _ = new PointerScope()) {
            Block block = new Block();
            List<float[]> before = train(block, true, true);
            try (NoGradGuard _ = new NoGradGuard()) {
                Tensor _ = RecomputedSegment.of("block", block, x -> block.forward(x, true))
                        .forward(torch.randn(4, WIDTH).mul(new Scalar(100)));
            }
            List<float[]> scales = new ArrayList<>();
            block.products.state().values().forEach(state -> scales.add(floats(state)));
            assertEqualBits(scales, before.subList(before.size() - scales.size(), before.size()));
        }
    }
}
