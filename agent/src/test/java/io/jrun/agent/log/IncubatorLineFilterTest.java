package io.jrun.agent.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IncubatorLineFilterTest {
    private static final String LINE = "WARNING: Using incubator modules: jdk.incubator.vector\n";

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 55, 1000})
    void firstLineOfTheJvmIsDroppedHoweverItIsCut(int piece) throws IOException {
        assertThat(filter("Picked up X\n" + LINE + "after\n", piece)).isEqualTo("Picked up X\nafter\n");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 1000})
    void otherLinesPass(int piece) throws IOException {
        String text = "WARNING: Using incubator modules: jdk.incubator.vector, other\n" + " " + LINE
                + "WARNING: something\nWARN\n\nWWARNING\n" + "WARNING: Using";
        assertThat(filter(text, piece)).isEqualTo(text);
    }

    @Test
    void onlyTheFirstIsOurs() throws IOException {
        assertThat(filter(LINE + LINE, 1000)).isEqualTo(LINE);
    }

    private static String filter(String text, int piece) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        IncubatorLineFilter filter = new IncubatorLineFilter(out::write);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < bytes.length; at += piece) {
            byte[] part = Arrays.copyOfRange(bytes, at, Math.min(bytes.length, at + piece));
            filter.write(part, part.length);
        }
        filter.end();
        return out.toString(StandardCharsets.UTF_8);
    }
}
