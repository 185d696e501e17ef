package io.jrun.examples.kmeans;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.local.LocalWorld;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KMeansTest {
    private static final KMeansOptions OPTIONS = new KMeansOptions(1001, 7, 3, 20, 4);

    /** The error of each iteration of rank 0, then the centres. */
    private static double[][] run(int ranks) {
        AtomicReferenceArray<double[][]> results = new AtomicReferenceArray<>(ranks);
        LocalWorld.run(ranks, world -> {
            KMeans kMeans = new KMeans(OPTIONS, world.group());
            double[] errors = new double[10];
            for (int i = 0; i < errors.length; i++) {
                errors[i] = kMeans.iterate();
            }
            results.set(world.rank(), new double[][] {errors, kMeans.centres()});
        });
        for (int rank = 1; rank < ranks; rank++) {
            assertThat(results.get(rank)).isDeepEqualTo(results.get(0));
        }
        return results.get(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void anyNumberOfRanksFindsTheBitsOfOneRank(int ranks) {
        double[][] one = run(1);
        assertThat(run(ranks)).isDeepEqualTo(one);
        assertThat(one[0][9]).as("the distance falls").isLessThan(one[0][0]);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--points=0 | --points is '0', expected a whole number from 1 to 268435456",
                "--clusters | --clusters needs a value",
                "--points=3 | --points is 3, fewer than --clusters, which is 16",
                "--point=3 | unknown option '--point=3'. Did you mean '--points'?"
            })
    void mistakesAreOneLine(String argument, String message) {
        assertThatThrownBy(() -> KMeansOptions.parse(argument))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void pointsBeyondTheHeapAreOneLineAtOnce() {
        LocalWorld.run(
                1,
                world -> assertThatThrownBy(
                                () -> KMeans.run(KMeansOptions.parse("--points=268435456", "--dimensions=1024"), world))
                        .isInstanceOf(InvalidArgumentException.class)
                        .hasMessageStartingWith(
                                "--points=268435456 of --dimensions=1024 need at least 2204 GB of Java heap on a rank, the JVM")
                        .hasMessageContaining(" a larger heap: jrun --jvm-opts=-Xmx2567g"));
    }

    @Test
    void helpNamesTheDefaults() {
        assertThat(KMeansOptions.parse("--help")).isEmpty();
        KMeansOptions defaults = KMeansOptions.parse().orElseThrow();
        assertThat(KMeansOptions.HELP)
                .contains("Default: " + defaults.points() + ".")
                .contains("Default: " + defaults.iterations() + ".");
    }
}
