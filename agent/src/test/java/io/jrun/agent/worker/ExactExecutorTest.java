package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.exec.PumpStreamHandler;
import org.junit.jupiter.api.Test;

/** A JVM that gets variables of any bytes hands them on as it got them. */
class ExactExecutorTest {
    private static final String START = "exec env -i PATH=\"$PATH\" 'A.B=1' 'BASH_FUNC_f%%=() { :; }' RAW=$'\\xff\\xfe'"
            + " $'N\\xfe=1' GONE=1 OTHER=old \"$0\" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp \"$1\" \"$2\"";

    /** Runs in a JVM of its own, which this class starts with such variables. */
    static final class Sender {
        private Sender() {}

        public static void main(String[] args) throws IOException {
            Map<String, String> wanted = new HashMap<>(System.getenv());
            wanted.remove("GONE");
            wanted.put("OTHER", "new");
            wanted.put("MORE", "\u00fc");
            ExactExecutor executor = new ExactExecutor(Path.of("/"));
            executor.setStreamHandler(new PumpStreamHandler(System.out));
            executor.execute(new ExactCommandLine(List.of("/usr/bin/env", "-0")), wanted);
        }
    }

    @Test
    void inheritedVariablesKeepTheirBytes() throws Exception {
        Process sender = new ProcessBuilder(
                        "/bin/bash",
                        "-c",
                        START,
                        Path.of(System.getProperty("java.home"), "bin/java").toString(),
                        System.getProperty("java.class.path"),
                        Sender.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String printed = new String(sender.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
        assertThat(sender.waitFor()).isZero();
        assertThat(printed.split("\0"))
                .contains("A.B=1", "BASH_FUNC_f%%=() { :; }", "RAW=\u00ff\u00fe", "N\u00fe=1", "OTHER=new")
                .anyMatch(word -> word.startsWith("MORE="))
                .noneMatch(word -> word.startsWith("GONE="));
    }
}
