package io.jrun.train.precision;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScalePolicyTest {
    /**
     * The states were printed by torch 2.13's {@code _amp_update_scale_}; x is a step whose gradients are not finite.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "65536 | 2 | 0.5 | 3 | ...x..x......xx.... | 0x1p16/1 0x1p16/2 0x1p17/0 0x1p16/0 0x1p16/1 0x1p16/2 0x1p15/0"
                        + " 0x1p15/1 0x1p15/2 0x1p16/0 0x1p16/1 0x1p16/2 0x1p17/0 0x1p16/0 0x1p15/0 0x1p15/1 0x1p15/2"
                        + " 0x1p16/0 0x1p16/1",
                "3 | 1.7 | 0.3 | 2 | ....x..x.x...... | 0x1.8p1/1 0x1.466666p2/0 0x1.466666p2/1 0x1.1570a4p3/0"
                        + " 0x1.4ced92p1/0 0x1.4ced92p1/1 0x1.1afd22p2/0 0x1.539628p0/0 0x1.539628p0/1 0x1.9780fcp-2/0"
                        + " 0x1.9780fcp-2/1 0x1.5a60d6p-1/0 0x1.5a60d6p-1/1 0x1.266beap0/0 0x1.266beap0/1 0x1.f4844p0/0",
                "1e38 | 3 | 0.5 | 2 | ......x.. | 0x1.2ced32p126/1 0x1.c363ccp127/0 0x1.c363ccp127/1 0x1.c363ccp127/0"
                        + " 0x1.c363ccp127/1 0x1.c363ccp127/0 0x1.c363ccp126/0 0x1.c363ccp126/1 0x1.c363ccp126/0"
            })
    void followsTheTracesOfTorch(
            float initial, double growth, double backoff, int interval, String steps, String wanted) {
        ScalePolicy policy = new ScalePolicy(initial, growth, backoff, interval);
        ScalePolicy.State state = policy.begin();
        List<ScalePolicy.State> found = new ArrayList<>();
        for (int i = 0; i < steps.length(); i++) {
            state = policy.after(state, steps.charAt(i) == '.');
            found.add(state);
        }
        assertThat(found)
                .isEqualTo(Arrays.stream(wanted.split(" ", -1))
                        .map(ScalePolicyTest::state)
                        .toList());
    }

    private static ScalePolicy.State state(String text) {
        int slash = text.indexOf('/');
        return new ScalePolicy.State(
                Float.parseFloat(text.substring(0, slash)), Integer.parseInt(text.substring(slash + 1)));
    }

    @Test
    void neverGrowsToInfinity() {
        ScalePolicy policy = new ScalePolicy(Float.MAX_VALUE, 2, 0.5, 1);
        assertThat(policy.after(policy.begin(), true).scale()).isEqualTo(Float.MAX_VALUE);
    }

    @Test
    void namesTheWrongArgument() {
        assertThatThrownBy(() -> new ScalePolicy(0, 2, 0.5, 1)).hasMessageStartingWith("initial must be");
        assertThatThrownBy(() -> new ScalePolicy(1, 1, 0.5, 1)).hasMessageStartingWith("growth must be");
        assertThatThrownBy(() -> new ScalePolicy(1, 2, 1, 1)).hasMessageStartingWith("backoff must be");
        assertThatThrownBy(() -> new ScalePolicy(1, 2, 0.5, 0)).hasMessageStartingWith("interval must be");
    }
}
