package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContainerEnvironmentTest {
    private static final ContainerEnvironment ENVIRONMENT = new ContainerEnvironment(
            Map.of("A", "image", "B", "image", "C", "image", "D", "image", "PATH", "/image"), List.of("B", "C"));

    @Test
    void theImagesVariablesAndTheChosenOnesReplaceTheNodes() {
        assertThat(ENVIRONMENT.over(Map.of("A", "node", "B", "node", "E", "node", "PATH", "/node", "LD_PRELOAD", "x")))
                .containsExactlyInAnyOrderEntriesOf(
                        Map.of("A", "image", "B", "node", "C", "image", "D", "image", "E", "node", "PATH", "/image"));
    }

    @Test
    void namesEachVariableWithSeveralValuesAndTheValueThatHolds() {
        Map<String, String> node = Map.of("A", "node", "B", "node", "C", "node", "D", "node", "PATH", "/node");
        assertThat(ENVIRONMENT.conflicts(node, Map.of("C", "job", "D", "job", "E", "job")))
                .contains("variables with several values: C, D have the value of --env or of the job file; B has the"
                        + " node's value, by --container-env; A has the image's value, not the node's");
        assertThat(ENVIRONMENT.conflicts(Map.of("A", "image", "E", "node"), Map.of("B", "image")))
                .isEmpty();
    }
}
