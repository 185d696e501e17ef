package io.jrun.bench.collective;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.train.json.JsonReader;
import io.jrun.train.json.JsonWriter;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecimalsTest {
    @ParameterizedTest
    @ValueSource(doubles = {0, 1e-9, 0.0004999, 12.3456, 1e12, -3.5})
    void aNumberHasTheDigitsOfATable(double number) {
        assertThat(JsonWriter.write(Decimals.rounded(number, 3)))
                .isEqualTo(String.format(Locale.ROOT, "%.3f", number).replace("-0.000", "0.000"));
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void aNumberThatIsNotFiniteLeavesValidJson(double number) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("offBy", Decimals.rounded(number, 5));
        object.put("millis", new BigDecimal("1.250"));
        String text = JsonWriter.write(object);
        assertThat(text).isEqualTo("{\"offBy\":null,\"millis\":1.250}");
        assertThat(JsonReader.readObject(text)).containsEntry("millis", 1.25).containsEntry("offBy", null);
    }
}
