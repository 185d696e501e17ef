package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScalePolicyTest {
    /** The trace was printed by torch 2.13's GradScaler. */
    @Test
    void followsTheTraceOfTorch() {
        ScalePolicy policy = new ScalePolicy(65_536, 2, 0.5f, 3);
        boolean[] finite = {true, true, true, true, true, false, true, true, true, false, false, true};
        List<Float> scales = new ArrayList<>();
        ScalePolicy.State state = policy.begin();
        for (boolean step : finite) {
            state = policy.after(state, step);
            scales.add(state.scale());
        }
        assertThat(scales)
                .containsExactly(
                        65_536f, 65_536f, 131_072f, 131_072f, 131_072f, 65_536f, 65_536f, 65_536f, 131_072f, 65_536f,
                        32_768f, 32_768f);
    }

    @Test
    void neverGrowsToInfinity() {
        ScalePolicy policy = new ScalePolicy(Float.MAX_VALUE, 2, 0.5f, 1);
        assertThat(policy.after(policy.begin(), true).scale()).isEqualTo(Float.MAX_VALUE);
    }

    @Test
    void namesTheWrongArgument() {
        assertThatThrownBy(() -> new ScalePolicy(0, 2, 0.5f, 1)).hasMessageStartingWith("initial must be");
        assertThatThrownBy(() -> new ScalePolicy(1, 1, 0.5f, 1)).hasMessageStartingWith("growth must be");
        assertThatThrownBy(() -> new ScalePolicy(1, 2, 1, 1)).hasMessageStartingWith("backoff must be");
        assertThatThrownBy(() -> new ScalePolicy(1, 2, 0.5f, 0)).hasMessageStartingWith("interval must be");
    }
}
