package io.jrun.train.recompute;

import static io.jrun.train.EqualBits.assertEqualBits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.train.Libtorch;
import io.jrun.train.TinyGpt;
import io.jrun.train.autograd.AutogradBridge;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.DropoutLayer;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.precision.Autocast;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.tensor.TensorMemory;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Segments that keep the outputs of linear layers. */
class KeptOutputsTest {
    private static final int WIDTH = 16;

    /** A feed-forward block that records where the output of its first layer lies. */
    private static final class RecordingBlock extends CompositeModule {
        private final LinearLayer up;
        private final LinearLayer down;
        private final DropoutLayer dropout = add("dropout", new DropoutLayer(0.3, 11));
        private final List<Long> addresses = new ArrayList<>();
        private int callsOfUp = 1;

        RecordingBlock(LinearLayer.Layout layout) {
            up = add("up", new LinearLayer(WIDTH, 4 * WIDTH, true, layout));
            down = add("down", new LinearLayer(4 * WIDTH, WIDTH, false, layout));
            TinyGpt.fill(ModuleTensors.parameters(this), 5);
        }

        Tensor forward(Tensor x) {
            Tensor hidden = up.forward(x);
            addresses.add(hidden.data_ptr().address());
            for (int i = 1; i < callsOfUp; i++) {
                hidden = hidden.add(up.forward(x));
            }
            return down.forward(dropout.forward(torch.gelu(hidden))).add(x);
        }
    }

    private static List<float[]> step(RecordingBlock block, @Nullable RecomputedSegment segment, boolean isBfloat16) {
        torch.manual_seed(3);
        Tensor x = torch.randn(2, 3, WIDTH).set_requires_grad(true);
        Tensor y;
        try (Autocast _ = isBfloat16 ? Autocast.cpuBfloat16() : Autocast.off(torch.DeviceType.CPU)) {
            y = segment == null ? block.forward(x) : segment.forward(x);
        }
        y.pow(new Scalar(2)).mean().backward();
        List<float[]> values = new ArrayList<>(List.of(floats(y), floats(x.grad())));
        ModuleTensors.parameters(block).values().forEach(parameter -> values.add(floats(parameter.grad())));
        return values;
    }

    private static float[] floats(Tensor tensor) {
        return TensorMemory.segment(tensor.detach().to(torch.ScalarType.Float).contiguous())
                .toArray(ValueLayout.JAVA_FLOAT);
    }

    @ParameterizedTest
    @CsvSource({"false, LINEAR", "true, LINEAR", "false, CONV1D", "true, CONV1D"})
    void gradientsHaveTheBitsOfAStepWithoutRecomputation(boolean isBfloat16, LinearLayer.Layout layout) {
        Libtorch.setThreads(1);
        try (PointerScope _ = new PointerScope()) {
            List<float[]> wanted = step(new RecordingBlock(layout), null, isBfloat16);
            RecordingBlock block = new RecordingBlock(layout);
            // The scope of a block inside the segment frees its tensors, and not the kept outputs.
            ModelBlock inner = new ModelBlock("block", 0, block, block::forward);
            RecomputedSegment segment = RecomputedSegment.keeping("block", block, inner::forward, "up"::equals);
            assertEqualBits(step(block, segment, isBfloat16), wanted);
            // The first output is alive during the second computation, so an equal address is the same memory.
            assertThat(block.addresses).hasSize(2);
            assertThat(block.addresses.get(1)).isEqualTo(block.addresses.get(0));
        }
    }

    @Test
    void aLayerThatIsCalledMoreOftenLaterIsAnError() {
        Libtorch.setThreads(1);
        try (PointerScope _ = new PointerScope()) {
            RecordingBlock block = new RecordingBlock(LinearLayer.Layout.LINEAR);
            Tensor y = RecomputedSegment.keeping("block", block, block::forward, "up"::equals)
                    .forward(torch.ones(4, WIDTH));
            block.callsOfUp = 2;
            assertThatThrownBy(() -> AutogradBridge.instance().backward(List.of(y.sum()), List.of()))
                    .isInstanceOf(RecomputeException.class)
                    .hasMessageContaining("2 instead of 1 calls");
        }
    }
}
