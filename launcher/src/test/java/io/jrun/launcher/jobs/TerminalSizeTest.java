package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TerminalSizeTest {
    @Test
    void linesThatDoNotFitAreCutAndCounted() {
        TerminalSize size = new TerminalSize(4, 5);
        assertThat(size.fitted(List.of("123456", "a", "b"))).containsExactly("12345", "a", "b");
        assertThat(new TerminalSize(4, 80).fitted(List.of("1", "2", "3", "4", "5")))
                .containsExactly("1", "2", "... and 3 more lines; see 'jrun top | less' or 'jrun dashboard'");
    }
}
