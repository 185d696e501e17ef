package io.jrun.agent.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GpuListTest {
    private static final String VARIABLE = "CUDA_VISIBLE_DEVICES";

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0 | 0",
                "3, 1 | 3,1",
                "GPU-8f3a,GPU-11ce0000-1111-2222-3333-444444444444 | GPU-8f3a,GPU-11ce0000-1111-2222-3333-444444444444",
                "MIG-aa000000-0000-5555-6666-777777777777,MIG-ab | MIG-aa000000-0000-5555-6666-777777777777,MIG-ab",
                "MIG-GPU-8f3a/1/0,MIG-GPU-8f3a/2/0 | MIG-GPU-8f3a/1/0,MIG-GPU-8f3a/2/0",
                "1,,2 | 1",
                "1,-1,x | 1",
                "-1 | ''",
                "'' | ''",
                "NoDevFiles | ''",
                "none | ''",
            })
    void entriesStayAsGiven(String text, String entries) throws GpuListException {
        assertThat(GpuList.parse(VARIABLE, text))
                .isEqualTo(entries.isEmpty() ? List.of() : List.of(entries.split(",", -1)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0,x | 'x' names no GPU",
                "gpu0 | 'gpu0' names no GPU",
                "0-3 | '0-3' names no GPU",
                "GPU-xyz | 'GPU-xyz' names no GPU",
                "MIG-GPU-8f3a/1 | 'MIG-GPU-8f3a/1' names no GPU",
                "0 1 | '0 1' names no GPU",
                "1,1 | '1' comes twice",
                "1,01 | '1' and '01' name the same GPU",
                "GPU-8f3a,GPU-8F | 'GPU-8f3a' and 'GPU-8F' name the same GPU",
                "MIG-aa,MIG-aa | 'MIG-aa' comes twice",
                "0,GPU-8f3a | '0' and 'GPU-8f3a' have different forms",
            })
    void formsThatCudaWouldDropAreRefusedInOneLine(String text, String why) {
        assertThatThrownBy(() -> GpuList.parse(VARIABLE, text))
                .isInstanceOf(GpuListException.class)
                .message()
                .startsWith(VARIABLE + "=" + text + ": " + why.replace("\"", "") + ". CUDA would hide GPUs")
                .doesNotContain("\n");
    }

    @Test
    void slurmsRangesAreIndices() {
        assertThat(GpuList.slurmIndices("0,2-3")).containsExactly("0", "2", "3");
        assertThat(GpuList.slurmIndices("h100:2")).isEmpty();
    }
}
