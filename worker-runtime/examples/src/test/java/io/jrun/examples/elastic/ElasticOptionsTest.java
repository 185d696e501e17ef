package io.jrun.examples.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ElasticOptionsTest {
    private static ElasticOptions elastic(String... args) {
        return ElasticOptions.parse(ElasticOptions.ELASTIC, args).orElseThrow();
    }

    @Test
    void readsAllOptions() {
        ElasticOptions options = elastic(
                "--steps=3",
                "--batch=8",
                "--pause",
                "5",
                "--out=o",
                "--checkpoint=s3://b/p",
                "--checkpoint-every=2",
                "--hold=1:a:b",
                "--hold=2:c");

        assertThat(options)
                .isEqualTo(new ElasticOptions(
                        3, 8, 5, Optional.of(Path.of("o")), Optional.of("s3://b/p"), 2, options.holds()));
        assertThat(options.hold(1)).hasValue(Path.of("a:b"));
        assertThat(options.hold(2)).hasValue(Path.of("c"));
        assertThat(options.hold(3)).isEmpty();
    }

    @Test
    void helpNamesTheDefaultsAndEveryOption() {
        assertThat(ElasticOptions.parse(ElasticOptions.ELASTIC, "--help")).isEmpty();
        assertThat(ElasticOptions.parse(ElasticOptions.SHARDED, "--steps=1", "--help"))
                .isEmpty();
        assertThat(ElasticOptions.HELP)
                .contains(
                        ElasticOptions.ELASTIC.stream().map(name -> name + "=").toList())
                .contains(List.of(
                        "Default: " + elastic().steps() + ".",
                        "Default: " + elastic().batch() + "."));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--steps=-1 | --steps is '-1', expected a whole number of at least 0",
                "--batch=0 | --batch is '0', expected a whole number of at least 1",
                "--pause=-5 | --pause is '-5', expected a whole number of at least 0",
                "--checkpoint-every=0 | --checkpoint-every is '0', expected a whole number of at least 1",
                "--hold=5 | --hold is '5', expected STEP:FILE",
                "--hold=5: | --hold is '5:', expected STEP:FILE",
                "--hold=x:y | --hold is 'x:y', expected STEP:FILE",
                "--step=3 | unknown option '--step=3'. Did you mean '--steps'?"
            })
    void mistakesAreOneLine(String argument, String message) {
        assertThatThrownBy(() -> elastic(argument))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage(message);
    }

    @ParameterizedTest
    @CsvSource({"--checkpoint=here", "--checkpoint-every=5", "--hold=5:file"})
    void aShardedTrainingRefusesOptionsThatHaveNoEffect(String argument) {
        assertThatThrownBy(() -> ElasticOptions.parse(ElasticOptions.SHARDED, argument))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageStartingWith("unknown option '" + argument + "'");
    }
}
