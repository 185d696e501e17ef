package io.jrun.bench;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.ByteSize;
import io.jrun.bench.collective.OptionLimits;
import io.jrun.bench.collective.Samples;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.Safetensors;
import io.jrun.train.tensor.ModuleTensors;
import io.jrun.train.weights.NameMapping;
import io.jrun.train.weights.WeightLoader;
import io.jrun.train.weights.WeightReaders;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Loads a file of weights by each choice of readers. The bytes are those that the kernel has counted for the read calls
 * of all ranks ({@code rchar} in {@code /proc/self/io}), not those that jrun counts. A time is the time of the slowest
 * rank; the file is in the page cache.
 */
@Command(
        name = "weights",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n",
        description = "Counts the bytes that ranks read to load a model, for each choice of readers.")
final class WeightsBench implements Benchmark {
    private static final int TENSORS = 64;
    private static final Path COUNTERS = Path.of("/proc/self/io");
    private static final String READ = "rchar: ";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--bytes",
            paramLabel = "BYTES",
            defaultValue = "1G",
            converter = ByteSize.Converter.class,
            description = "size of the model")
    private ByteSize bytes = new ByteSize(1);

    @Option(names = "--dir", paramLabel = "DIR", description = "folder for the file, which is removed at the end")
    private @Nullable Path folder;

    @Option(names = "--iters", paramLabel = "N", defaultValue = "3", description = "measured turns")
    private int iters = 3;

    @Option(names = "--json", description = "JSON lines instead of the table")
    private boolean json;

    /** Parameters of one shape. */
    private static final class Weights extends Module {
        Weights(long elements) {
            for (int i = 0; i < TENSORS; i++) {
                register_parameter(
                        "tensor" + i,
                        torch.empty(
                                new long[] {elements},
                                new TensorOptions(torch.ScalarType.Float),
                                new MemoryFormatOptional()),
                        false);
            }
        }
    }

    @Override
    public void check() {
        OptionLimits.check(spec, "--iters", iters, 1, OptionLimits.MOST_CALLS);
        if (folder == null) {
            throw new ParameterException(spec.commandLine(), "--dir=DIR is missing: the folder for the file");
        }
    }

    @Override
    public void run() {
        check();
        Path file = Objects.requireNonNull(folder).resolve("weights.safetensors");
        try (World world = Distributed.init()) {
            OptionLimits.checkMemory("--bytes", bytes.bytes(), 1, world);
            Libtorch.setThreads(1);
            Weights weights = new Weights(Math.max(1, bytes.bytes() / TENSORS / Float.BYTES));
            if (world.rank() == 0) {
                Safetensors.write(file, ModuleTensors.parameters(weights), Map.of());
            }
            world.group().barrier();
            if (world.rank() == 0 && !json) {
                System.out.printf("# %d ranks, a file of %d bytes%n", world.size(), Files.size(file));
                System.out.printf("%-14s %16s %12s %12s%n", "readers", "bytes read", "of the file", "median ms");
            }
            for (WeightReaders readers : WeightReaders.values()) {
                measure(world, weights, file, readers);
            }
            if (world.rank() == 0) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void measure(World world, Weights weights, Path file, WeightReaders readers) throws IOException {
        double[] nanos = new double[iters];
        double[] read = new double[iters];
        for (int turn = -1; turn < iters; turn++) { // the first turn loads classes and warms up
            world.group().barrier();
            long before = bytesRead();
            long start = System.nanoTime();
            long _ = WeightLoader.load(weights, file, NameMapping.SAME, world, readers);
            double[] slowest = {System.nanoTime() - start};
            double[] all = {bytesRead() - before};
            world.group().allReduce(MemorySegment.ofArray(slowest), DataType.F64, 1, ReduceOp.MAX);
            world.group().allReduce(MemorySegment.ofArray(all), DataType.F64, 1, ReduceOp.SUM);
            if (turn >= 0) {
                nanos[turn] = slowest[0];
                read[turn] = all[0];
            }
        }
        if (world.rank() == 0) {
            print(world.size(), readers, new Samples(read).medianNanos(), Files.size(file), new Samples(nanos));
        }
    }

    private static long bytesRead() throws IOException {
        return Files.readString(COUNTERS)
                .lines()
                .filter(line -> line.startsWith(READ))
                .mapToLong(line -> Long.parseLong(line.substring(READ.length())))
                .findFirst()
                .orElseThrow(() -> new IOException(COUNTERS + " lacks rchar"));
    }

    private void print(int ranks, WeightReaders readers, double read, long fileBytes, Samples nanos) {
        String name = readers.name().toLowerCase(Locale.ROOT).replace('_', '-');
        if (json) {
            System.out.printf(
                    Locale.ROOT,
                    "{\"op\":\"weights\",\"ranks\":%d,\"readers\":\"%s\",\"fileBytes\":%d,\"bytesRead\":%.0f,"
                            + "\"medianMillis\":%.3f}%n",
                    ranks,
                    name,
                    fileBytes,
                    read,
                    nanos.medianNanos() / 1e6);
        } else {
            System.out.printf(
                    Locale.ROOT,
                    "%-14s %16.0f %12.4f %12.1f%n",
                    name,
                    read,
                    read / fileBytes,
                    nanos.medianNanos() / 1e6);
        }
    }
}
