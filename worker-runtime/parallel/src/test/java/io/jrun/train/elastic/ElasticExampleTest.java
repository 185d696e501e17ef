package io.jrun.train.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.junit.jupiter.api.Test;

/** The example of the package's page. */
class ElasticExampleTest {
    @Test
    void oneRankLearnsTheLine() {
        TrainingState<LinearImpl, SGD> state = ElasticExample.train(500);
        assertThat(state.step()).isEqualTo(500);
        assertThat(state.model().weight().item_double()).isBetween(0.9, 1.1);
    }
}
