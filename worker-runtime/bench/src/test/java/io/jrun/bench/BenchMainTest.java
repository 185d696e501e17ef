package io.jrun.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The checks and helps that the launcher requests before it starts ranks. */
class BenchMainTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "allreduce --type=x | --type",
                "allreduce --backend=mvapich | --backend",
                "allreduce --step-factor=1 | --step-factor=1 must be from 2 to 65536",
                "allreduce --min-bytes=8 --max-bytes=4 | --min-bytes=8 is more than --max-bytes=4",
                "allreduce --op=avg --type=bool | --op=avg has no meaning for --type=bool",
                "allreduce --warmup-iters=0 | --warmup-iters=0 must be from 1 to 1000000",
                "allreduce --iters=2147483647 | --iters=2147483647 must be from 0 to 1000000",
                "memory --calls=0 | --calls=0 must be from 1",
                "memory --warmup-iters=-1 | --warmup-iters=-1 must be from 1",
                "memory --max-seconds=0 | --max-seconds=0 must be from 1 to 86400",
                "pipeline --micro-batches=2147483647 | --micro-batches=2147483647 must be from 1 to 4096",
                "pipeline --virtual-stages=65 | --virtual-stages=65 must be from 1 to 64",
                "--tune --step-factor=2147483647 | --step-factor=2147483647 must be from 2 to 65536",
                "allredux | no operation has the name 'allredux'",
                "ddp --steps=0 | --steps",
                "pipeline --schedule=1f2b | --schedule",
                "checkpoint --dir=x --iters=0 | --iters",
                "weights | --dir",
                "tune --operations=sendrecv | no operation has the name 'tune'",
                "--tune --operations=sendrecv | sendrecv",
            })
    void wrongArgumentsAreOneLineThatNamesThem(String arguments, String named) {
        assertThat(BenchMain.check(arguments.split(" ")))
                .contains(named)
                .endsWith(".")
                .hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"allreduce", "allreduce --type=bool --op=max", "barrier --json", "--tune", "memory", "-h"})
    void usableArgumentsHaveNoError(String arguments) {
        assertThat(BenchMain.check(arguments.split(" "))).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"--help, OPERATION", "allreduce -h, --min-bytes", "-h ddp, --steps"})
    void helpIsThatOfTheOperation(String arguments, String named) {
        assertThat(BenchMain.help(arguments.split(" ")))
                .startsWith("Usage: jrun bench")
                .contains(named);
    }
}
