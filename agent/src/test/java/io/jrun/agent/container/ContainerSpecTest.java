package io.jrun.agent.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContainerSpecTest {
    @ParameterizedTest
    @CsvSource({"a, AUTO", "a.b-c:auto, AUTO", "a:create, CREATE", "a:exec, EXEC", "a:no_exec, NO_EXEC"})
    void names(String text, ContainerName.Mode mode) {
        assertThat(ContainerName.parse(text).mode()).isEqualTo(mode);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":auto", "../a", "a/b", "a:", "a:run", "-a", "a b", ".hidden"})
    void namesRefused(String text) {
        assertThatThrownBy(() -> ContainerName.parse(text)).isInstanceOf(ContainerFormatException.class);
    }

    @Test
    void namespaces() {
        assertThat(UnsharedNamespace.parseAll("ipc,net,ipc"))
                .containsExactly(UnsharedNamespace.IPC, UnsharedNamespace.NET);
        assertThatThrownBy(() -> UnsharedNamespace.parseAll("ipc,user"))
                .hasMessage("unknown namespace 'user'; the namespaces are net, ipc, uts and pid");
    }

    @Test
    void aJobHasItsRunIdAndSlurmsStepAsNames() {
        assertThat(ContainerName.ofJob("run-7", Map.of())).containsExactly("run-7");
        assertThat(ContainerName.ofJob("run-7", Map.of("SLURM_JOB_ID", "12", "SLURM_STEP_ID", "0")))
                .containsExactly("run-7", "12.0");
        assertThat(ContainerName.ofJob("run-7", Map.of("SLURM_JOB_ID", "12"))).containsExactly("run-7", "12.batch");
    }

    @Test
    void variables() {
        assertThat(ContainerSpec.parseEnvironment("A,_b1")).containsExactly("A", "_b1");
        assertThatThrownBy(() -> ContainerSpec.parseEnvironment("A=1")).hasMessageContaining("'A=1' is not the name");
        assertThatThrownBy(() -> ContainerSpec.parseEnvironment("")).isInstanceOf(ContainerFormatException.class);
    }

    @Test
    void workingFolders() {
        assertThat(ContainerSpec.parseWorkdir("/work")).isEqualTo("/work");
        assertThat(ContainerSpec.parseWorkdir("data/a")).isEqualTo("/data/a");
        assertThat(ContainerSpec.parseWorkdir("../")).isEqualTo("/");
        assertThat(ContainerSpec.parseWorkdir("./../b/.")).isEqualTo("/b");
        assertThatThrownBy(() -> ContainerSpec.parseWorkdir("a\nb")).hasMessageContaining("one line of text");
    }
}
