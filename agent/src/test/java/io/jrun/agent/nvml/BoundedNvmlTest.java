package io.jrun.agent.nvml;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The library of {@code scripts/testbed/nvml}: two GPUs, the second with two MIG slices on request. */
class BoundedNvmlTest {
    private static final Path ROOT = Path.of(System.getProperty("jrun.root", ".."));
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final List<String> SETTINGS =
            List.of("SIMNVML_DEVICES", "SIMNVML_HIDDEN", "SIMNVML_MIG", "SIMNVML_FAIL", "SIMNVML_HANG");

    private static String library = "";

    private BoundedNvml nvml = new BoundedNvml("", LONG, LONG);

    @BeforeAll
    static void build() throws IOException, InterruptedException {
        Path folder = ROOT.resolve("target/simulated-nvml").toAbsolutePath().normalize();
        Path messages = Files.createTempFile("nvml", ".txt");
        Process build = new ProcessBuilder(ROOT.resolve("scripts/testbed/nvml").toString(), "build", folder.toString())
                .redirectErrorStream(true)
                .redirectOutput(messages.toFile())
                .start();
        assertThat(build.waitFor(60, TimeUnit.SECONDS)).isTrue();
        String printed = Files.readString(messages);
        Files.delete(messages);
        assumeTrue(build.exitValue() != 2, "skipped: " + printed);
        assertThat(build.exitValue()).as(printed).isZero();
        library = folder.resolve("libnvidia-ml.so.1").toString();
    }

    @BeforeEach
    void open() {
        nvml = new BoundedNvml(library, LONG, LONG);
    }

    @AfterEach
    void close() throws Throwable {
        nvml.close();
        for (String setting : SETTINGS) {
            set(setting, "");
        }
    }

    private static void set(String name, String value) throws Throwable {
        MethodHandle set = function("simnvml_set", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
        try (Arena arena = Arena.ofConfined()) {
            assertThat((int) set.invoke(arena.allocateFrom(name), arena.allocateFrom(value)))
                    .isZero();
        }
    }

    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup(library, Arena.global())
                                .find(name)
                                .orElseThrow(),
                        descriptor);
    }

    @Test
    void gpusHaveTheirNamesPlacesAndModes() throws Exception {
        assertThat(nvml.driver()).isEqualTo("580.65.06");
        assertThat(nvml.gpus())
                .containsExactly(
                        new NvmlGpu(
                                0,
                                "NVIDIA H100 80GB HBM3",
                                "GPU-a0000000-1111-2222-3333-444444444444",
                                "0000:1b:00.0",
                                80L << 30,
                                "on",
                                "off",
                                List.of()),
                        new NvmlGpu(
                                1,
                                "NVIDIA H100 80GB HBM3",
                                "GPU-a0000001-1111-2222-3333-444444444444",
                                "0000:1c:00.0",
                                80L << 30,
                                "off",
                                "off",
                                List.of()));
    }

    @Test
    void loadIsReadByIndexAndUuid() throws Exception {
        assertThat(nvml.read(List.of("1", "GPU-A0000000")))
                .containsExactly(
                        new NvmlReading("1", "NVIDIA H100 80GB HBM3", 2L << 30, 80L << 30, 91, 41, 350_500),
                        new NvmlReading("GPU-A0000000", "NVIDIA H100 80GB HBM3", 1L << 30, 80L << 30, 90, 40, 350_500));
        assertThat(nvml.read(List.of("7", "GPU-ff"))).isEmpty();
    }

    @Test
    void aSliceReportsItsMemoryOnly() throws Throwable {
        set("SIMNVML_MIG", "1");
        String slice = "MIG-a0000001-0001-5555-6666-777777777777";
        assertThat(nvml.gpus().get(1).slices()).hasSize(2).contains(slice);
        assertThat(nvml.read(List.of(slice)))
                .containsExactly(
                        new NvmlReading(slice, "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 2L << 30, 40L << 30, -1, -1, -1));
    }

    @Test
    void pathsBetweenPairsAreNamedAsInNvidiaSmi() throws Throwable {
        set("SIMNVML_DEVICES", "3");
        assertThat(nvml.links())
                .containsExactly(new NvmlLink(0, 1, "NVLink"), new NvmlLink(0, 2, "SYS"), new NvmlLink(1, 2, "SYS"));
    }

    @Test
    void aGpuThatACgroupHidesIsLeftOut() throws Throwable {
        set("SIMNVML_HIDDEN", "0");
        assertThat(nvml.gpus()).extracting(NvmlGpu::busId).containsExactly("0000:1c:00.0");
    }

    @Test
    void valuesThatTheDriverRefusesAreUnknown() throws Throwable {
        set("SIMNVML_FAIL", "nvmlDeviceGetPowerUsage=3,nvmlDeviceGetMemoryInfo=15");
        assertThat(nvml.read(List.of("0")))
                .containsExactly(new NvmlReading("0", "NVIDIA H100 80GB HBM3", -1, -1, 90, 40, -1));
    }

    @Test
    void aDriverThatRefusesIsReportedWithItsReason() throws Throwable {
        set("SIMNVML_FAIL", "nvmlInit_v2=9");
        assertThatThrownBy(nvml::gpus)
                .isInstanceOf(NvmlException.class)
                .hasMessage("nvmlInit_v2: Driver Not Loaded (error 9)");
        set("SIMNVML_FAIL", "");
        assertThatThrownBy(nvml::driver).hasMessage("nvmlInit_v2: Driver Not Loaded (error 9)");
    }

    @Test
    void aDriverThatHangsCostsOneDeadline() throws Throwable {
        set("SIMNVML_HANG", "nvmlDeviceGetUtilizationRates");
        BoundedNvml impatient = new BoundedNvml(library, LONG, SHORT);
        assertThat(impatient.driver()).isNotEmpty();
        String message = "no answer within 0.1 s; the driver may hang, see nvidia-smi and dmesg";
        assertThatThrownBy(() -> impatient.read(List.of("0"))).hasMessage(message);
        assertThatThrownBy(impatient::gpus).hasMessage(message);
        impatient.close();
    }

    @Test
    void aMissingLibraryIsReportedWithItsOrigin() {
        BoundedNvml missing = new BoundedNvml("/nowhere/libnvidia-ml.so.1", LONG, LONG);
        assertThatThrownBy(missing::gpus)
                .hasMessageStartingWith("/nowhere/libnvidia-ml.so.1 cannot be opened; it comes with NVIDIA's driver");
        missing.close();
    }
}
