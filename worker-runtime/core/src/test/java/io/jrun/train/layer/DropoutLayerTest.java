package io.jrun.train.layer;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.Libtorch;
import java.util.HashSet;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DropoutLayerTest {
    private static final int ELEMENTS = 64;

    private PointerScope scope;

    @BeforeEach
    void open() {
        Libtorch.setThreads(1);
        scope = new PointerScope();
    }

    @AfterEach
    void close() {
        scope.close();
    }

    @Test
    void masksFollowTheSeedAndTheStep() {
        Set<String> masks = new HashSet<>();
        for (long seed : new long[] {1, 2}) {
            DropoutLayer layer = new DropoutLayer(0.5, seed);
            for (long step : new long[] {1, 2, Long.MIN_VALUE}) {
                layer.beginStep(step);
                String first = mask(layer);
                assertThat(masks.add(first)).as("seed %d, step %d", seed, step).isTrue();
                assertThat(mask(layer)).as("the second pass of a step").isNotEqualTo(first);
                layer.beginStep(step);
                assertThat(mask(layer)).isEqualTo(first);
            }
        }
    }

    @Test
    void aStepKeepsTheGenerator() {
        DropoutLayer layer = new DropoutLayer(0.5, 1);
        var generator = layer.generator();
        layer.beginStep(1);
        assertThat(layer.generator()).as("a recorded graph reads this object").isSameAs(generator);
    }

    private static String mask(DropoutLayer layer) {
        Tensor kept = layer.forward(torch.ones(ELEMENTS));
        StringBuilder mask = new StringBuilder();
        for (long i = 0; i < ELEMENTS; i++) {
            mask.append(kept.get(i).item_double() == 0 ? '0' : '1');
        }
        return mask.toString();
    }
}
