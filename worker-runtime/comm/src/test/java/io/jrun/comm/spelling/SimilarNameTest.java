package io.jrun.comm.spelling;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SimilarNameTest {
    private static final List<String> NAMES = List.of(
            "--nproc-per-node",
            "--nnodes",
            "--max-restarts",
            "--timeout",
            "--tee",
            "--role",
            "--read",
            "--data",
            "--steps",
            "--eps",
            "--tp",
            "--pp",
            "--seed",
            "--save",
            "--resume",
            "--learning-rate",
            "--ranks-filter",
            "--local-ranks-filter",
            "-r",
            "ps",
            "logs",
            "cancel",
            "describe");

    @ParameterizedTest
    @CsvSource({
        "--nporc-per-node, --nproc-per-node",
        "--nproc-pre-ndoe, --nproc-per-node",
        "--nproc, --nproc-per-node",
        "-nnodes, --nnodes",
        "--nnode, --nnodes",
        "--max-restart, --max-restarts",
        "--maxrestarts, --max-restarts",
        "--timeot, --timeout",
        "--imeout, --timeout",
        "--itmeout, --timeout",
        "--step, --steps",
        "--setps, --steps",
        "--rolee, --role",
        "--resmue, --resume",
        "--learing-rtae, --learning-rate",
        "cancle, cancel",
        "lgos, logs",
        "pss, ps",
        "decribe, describe"
    })
    void aMistypedNameIsFound(String word, String meant) {
        assertThat(SimilarName.of(word, NAMES)).contains(meant);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--shard", // not --read
                "--epoks", // not --eps
                "--node", // as far from others
                "--lr",
                "--dp",
                "--cp",
                "--x",
                "-x",
                "-",
                "",
                "--",
                "--batch",
                "--rate",
                "--date-x",
                "--sead-of",
                "--load",
                "--sale-x",
                "--free",
                "--roll-up",
                "--gpus",
                "--model",
                "--tea-x",
                "exec",
                "run"
            })
    void aWordThatMeansSomethingElseGetsNoGuess(String word) {
        assertThat(SimilarName.of(word, NAMES)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"--sed, --seed", "--see, --seed", "--sav, --save"})
    void aShortWordHasOneEdit(String word, String meant) {
        assertThat(SimilarName.of(word, NAMES)).contains(meant);
    }
}
