package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.TerminalStreams;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CertRequestTest {
    private static CertRequest parse(String... words) {
        Path here = Path.of("/here");
        return CertRequest.parse(
                List.of(words), new CommandContext(Map.of("HOME", "/here"), here, here, here, TerminalStreams.NONE));
    }

    @Test
    void optionsTakeTheirValuesInBothForms() {
        CertRequest wanted = new CertRequest(Path.of("/ca"), List.of("gpu1", "10.0.0.1"), 30);
        assertThat(parse("node", "gpu1,10.0.0.1", "--dir=/ca", "--days=30")).isEqualTo(wanted);
        assertThat(parse("node", "--days", "30", "gpu1,10.0.0.1", "--dir", "/ca"))
                .isEqualTo(wanted);
        assertThat(parse("init", "--dir", "/ca").names()).isEmpty();
    }

    @Test
    void whatIsWrongIsOneLine() {
        for (String[] words : new String[][] {
            {"init", "--dir"},
            {"init", "--dir="},
            {"init", "--days", "0"},
            {"init", "--days"},
            {"init", "--years=2"},
            {"node"},
            {"node", "ca"},
            {}
        }) {
            assertThatThrownBy(() -> parse(words))
                    .isInstanceOf(UsageException.class)
                    .message()
                    .isNotEmpty()
                    .doesNotContain("\n");
        }
    }
}
