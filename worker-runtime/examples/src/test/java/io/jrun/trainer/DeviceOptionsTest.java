package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.comm.Device;
import io.jrun.comm.local.LocalWorld;
import io.jrun.train.device.ComputeCapability;
import io.jrun.train.device.DeviceRequest;
import io.jrun.train.device.GpuPeaks.Operands;
import io.jrun.trainer.arguments.InvalidArgumentException;
import io.jrun.trainer.device.DeviceOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceOptionsTest {
    private static TrainingArguments parse(String arguments) {
        return GptArguments.parse(arguments.isEmpty() ? new String[0] : arguments.split(" ", -1))
                .orElseThrow();
    }

    private static TrainingArguments onGpu(String arguments) {
        TrainingArguments given = parse(arguments);
        return given.withDevice(new DeviceOptions(
                DeviceRequest.AUTO, given.device().usesTf32(), given.device().usesGraph(), Device.cuda(0)));
    }

    @Test
    void theDefaultIsAutomatic() {
        assertThat(parse("").device()).isEqualTo(new DeviceOptions(DeviceRequest.AUTO, false, false, Device.CPU));
        assertThatThrownBy(() -> parse("--device=gpu"))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage("--device is 'gpu', expected auto, cpu, cuda or cuda:N");
    }

    @Test
    void ranksWithoutGpusUseTheCpuOrFailOnAllRanks() {
        LocalWorld.run(2, world -> {
            List<String> notes = new ArrayList<>();
            assertThat(parse("--device=auto").device().choose(world, notes::add).device())
                    .isEqualTo(Device.CPU);
            assertThat(notes).isEmpty();
            for (String device : List.of("--device=cuda", "--device=cuda:1")) {
                assertThatThrownBy(() -> parse(device).device().choose(world, notes::add))
                        .isInstanceOf(InvalidArgumentException.class)
                        .hasMessageStartingWith("rank 0 on " + world.host() + " sees no GPU.");
            }
            assertThatThrownBy(() -> parse("--device=cpu --tf32").device().choose(world, notes::add))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessageContaining("give no --tf32");
            assertThatThrownBy(() -> parse("--device=cpu --cuda-graph").device().choose(world, notes::add))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessage("--cuda-graph records the work of a GPU, and the ranks train on the CPU: give no"
                            + " --cuda-graph");
        });
    }

    @Test
    void whatNeedsHostMemoryIsRefusedOnGpus() {
        assertThatThrownBy(() -> DeviceOptionChecks.check(onGpu("--uneven=join")))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageStartingWith("--uneven works on CPUs only")
                .hasMessageContaining("give --device=cpu");
        assertThatCode(() -> DeviceOptionChecks.check(parse("--uneven=join"))).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({"8, 9", "9, 0", "10, 0", "12, 0"})
    void cardsWithFloat8ProductsTrainInEightBits(int major, int minor) {
        assertThatCode(() -> DeviceOptionChecks.checkFloat8("a GPU", Optional.of(new ComputeCapability(major, minor))))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({"7, 5", "8, 0", "8, 6"})
    void olderCardsAreRefusedForEightBitsInOneLine(int major, int minor) {
        assertThatThrownBy(() ->
                        DeviceOptionChecks.checkFloat8("NVIDIA X", Optional.of(new ComputeCapability(major, minor))))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage("--precision=fp8 needs a GPU of compute capability 8.9 or newer, such as L4, H100 or B200,"
                        + " and NVIDIA X has " + major + "." + minor + ": give --precision=bf16, or --device=cpu");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "--precision=bf16 --optimizer=fused --ema=0.9 --recompute=1",
                "--accumulate=4 --tf32",
                "--cp=2",
                "--shard=2 --zero=3 --offload=f --optimizer=fused",
                "--tp=2 --pp=2 --shard=2",
                "--zero=1 --optimizer=fused",
                "--cp=2 --cp-exchange=ulysses",
                "--experts=2",
                "--precision=fp8 --optimizer=fused"
            })
    void parallelTrainingIsForGpus(String arguments) {
        assertThatCode(() -> DeviceOptionChecks.check(onGpu(arguments))).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({
        "--experts=2, 1, without experts: the host reads",
        "--zero=1 --optimizer=fused, 1, without --zero",
        "--zero=3, 1, without --zero",
        "--recompute=1, 1, no --recompute",
        "--on-nonfinite=stop, 1, no --on-nonfinite",
        "--optimizer=fused --clip=0 --update-in-hook, 1, no --update-in-hook",
        "--comm-hook=bf16, 1, no --comm-hook",
        "--local-sgd=1, 1, no --local-sgd",
        "--find-unused-parameters, 1, no --find-unused-parameters",
        "--ddp-report, 1, no --ddp-report",
        "'', 2, a job of one rank: the collectives of 2 ranks wait",
        "--tp=2, 2, a job of one rank",
    })
    void whatAGraphCannotHoldIsRefusedWithItsReason(String arguments, int ranks, String named) {
        String withGraph = (arguments + " --cuda-graph").trim();
        assertThatThrownBy(() -> CudaGraphChecks.check(onGpu(withGraph), ranks))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageStartingWith("--cuda-graph needs ")
                .hasMessageContaining(named)
                .hasMessageNotContaining("\n");
        assertThatCode(() -> CudaGraphChecks.check(onGpu(arguments), ranks)).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--cuda-graph",
                "--cuda-graph --precision=f16 --accumulate=4 --ema=0.9 --clip=0",
                "--cuda-graph --optimizer=sgd --lr-schedule=one-cycle --warmup=0 --static-graph"
            })
    void oneRankTrainsByAGraph(String arguments) {
        assertThatCode(() -> CudaGraphChecks.check(onGpu(arguments), 1)).doesNotThrowAnyException();
        assertThatThrownBy(() -> CudaGraphChecks.checkData(onGpu(arguments), true))
                .hasMessageStartingWith("--cuda-graph needs samples with equal numbers of targets");
    }

    @ParameterizedTest
    @CsvSource({
        "'', F32",
        "--tf32, TF32",
        "--precision=bf16 --tf32, BF16",
        "--precision=f16, F16",
        "--parameters=bf16 --optimizer=fused, BF16",
        "--parameters=f16 --optimizer=fused, F16",
        "--parameters=f64, ",
        "--precision=fp8, ",
    })
    void thePeakIsOfTheOperandsOfTheProducts(String arguments, Operands expected) {
        assertThat(PeakOfDevice.operands(onGpu(arguments))).isEqualTo(Optional.ofNullable(expected));
    }

    @Test
    void aCardWithoutAKnownPeakHasNoUtilisation() {
        assertThat(PeakOfDevice.ofGpu("NVIDIA H100 80GB HBM3", Optional.of(Operands.BF16)))
                .isEqualTo(new PeakOfDevice(989.4e12, Optional.empty()));
        assertThat(Stream.of("NVIDIA X9000", "Tesla T4")
                        .map(name -> PeakOfDevice.ofGpu(name, Optional.of(Operands.BF16))))
                .allSatisfy(peak -> {
                    assertThat(peak.flops()).isZero();
                    assertThat(peak.note().orElseThrow())
                            .startsWith("note: no MFU")
                            .contains("Give --peak-flops.");
                });
        assertThat(PeakOfDevice.of(onGpu("--peak-flops=5e12")).flops()).isEqualTo(5e12);
    }
}
